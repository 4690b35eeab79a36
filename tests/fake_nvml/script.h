// What both fakes answer, from a text file named "script" that lies beside the library. A line is
//
//     FUNCTION CALLS VERB WORDS        cuStreamSynchronize * delay 20
//
// FUNCTION may end in `*`. CALLS is `*`, one number, `FROM-TO` or `FROM-`; calls are counted from 1. Verbs:
//     return N      returns N and does nothing else
//     delay MS      waits first
//     hang          never returns
//     value V…      the figures that the function gives, by place; `~` keeps the usual one
//     text T        the text that it gives; \xNN is a byte
//     step N        a counter that grows by N with each call, from its value
//     as u32|u64    the width of a counter
// A later line counts for more than an earlier one. What no line speaks of is as on a healthy H200.

#define _GNU_SOURCE // dladdr
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <dlfcn.h>

#define LINES 64
#define WORDS 6

struct line {
    char function[48], verb[12], word[WORDS][96];
    unsigned long from, to;
    int words;
};

struct counted {
    char function[48];
    unsigned long calls;
};

static struct line lines[LINES];
static int line_count;
static struct counted counters[64];
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// An answer to one call.
struct call {
    const char *function;
    unsigned long number;
};

static void read_script(void) {
    Dl_info self;
    char path[4096], text[512], calls[32];
    if (!dladdr((void *)read_script, &self)) return;
    const char *slash = strrchr(self.dli_fname, '/');
    int folder = slash ? (int)(slash - self.dli_fname) : 0;
    snprintf(path, sizeof path, "%.*s/script", folder, self.dli_fname);
    FILE *file = fopen(path, "r");
    if (!file) return;
    while (line_count < LINES && fgets(text, sizeof text, file)) {
        struct line *line = &lines[line_count];
        memset(line, 0, sizeof *line);
        line->words = sscanf(text, "%47s %31s %11s %95s %95s %95s %95s %95s %95s", line->function, calls, line->verb,
                             line->word[0], line->word[1], line->word[2], line->word[3], line->word[4], line->word[5]) - 3;
        if (line->words < 0 || line->function[0] == '#') continue;
        line->from = 1;
        line->to = ~0ul;
        if (calls[0] != '*') {
            char *rest;
            line->from = line->to = strtoul(calls, &rest, 10);
            if (*rest == '-') line->to = rest[1] ? strtoul(rest + 1, NULL, 10) : ~0ul;
        }
        line_count++;
    }
    fclose(file);
}

// A name in the script may end in `*`.
static int names(const char *pattern, const char *function) {
    size_t length = strlen(pattern);
    if (length && pattern[length - 1] == '*') return !strncmp(pattern, function, length - 1);
    return !strcmp(pattern, function);
}

// The last line with this verb for this call; NULL if there is none.
static const struct line *said(struct call call, const char *verb) {
    for (int i = line_count - 1; i >= 0; i--)
        if (names(lines[i].function, call.function) && !strcmp(lines[i].verb, verb) && call.number >= lines[i].from
            && call.number <= lines[i].to)
            return &lines[i];
    return NULL;
}

static void wait_ms(double ms) {
    struct timespec time = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};
    nanosleep(&time, NULL);
}

// Counts the call and does what the script says of every answer. The result is what is to be returned; 0 to go on.
static int begin(const char *function, struct call *call) {
    pthread_once(&once, read_script);
    pthread_mutex_lock(&counting);
    struct counted *counter = counters;
    while (counter->function[0] && strcmp(counter->function, function)) counter++;
    snprintf(counter->function, sizeof counter->function, "%s", function);
    *call = (struct call){function, ++counter->calls};
    pthread_mutex_unlock(&counting);
    const struct line *delay = said(*call, "delay"), *code = said(*call, "return");
    if (said(*call, "hang"))
        for (;;) wait_ms(1000);
    if (delay) wait_ms(atof(delay->word[0]));
    return code ? atoi(code->word[0]) : 0;
}

static double value(struct call call, int place, double usual) {
    const struct line *line = said(call, "value");
    return line && place < line->words && strcmp(line->word[place], "~") ? atof(line->word[place]) : usual;
}

// A text with its escapes undone.
static void text(struct call call, const char *usual, char *out, unsigned room) {
    const struct line *line = said(call, "text");
    const char *from = line ? line->word[0] : usual;
    unsigned at = 0;
    while (*from && at + 1 < room) {
        unsigned byte;
        if (from[0] == '\\' && from[1] == 'x' && sscanf(from + 2, "%2x", &byte) == 1) {
            out[at++] = (char)byte;
            from += 4;
        } else {
            out[at++] = *from++;
        }
    }
    if (room) out[at] = 0;
}
