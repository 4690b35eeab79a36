//! What a workload file says.

use super::variant::{Choice, Member};
use crate::device::Access;
use crate::event::{MemoryKind, Phase};
use crate::units::Bytes;
use serde::{Deserialize, Deserializer};

/// A workload: a question, what to predict, why it comes out so, and the steps that show it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Short name, used in flags: lower case, digits, hyphens.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// What it asks.
    pub question: String,
    /// What to expect.
    pub predict: String,
    /// Why it comes out so.
    pub why: String,
    /// Footprint.
    pub memory: Memory,
    /// Memory, prefetch and advice where the user says nothing.
    #[serde(default)]
    pub defaults: Choice,
    /// Variants that a bench runs against each other where the user says nothing.
    #[serde(default)]
    pub compare: Vec<Member>,
    /// What one pass does.
    pub pass: PassSpec,
}

/// The footprint.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Default size.
    #[serde(deserialize_with = "size")]
    pub size: Bytes,
    /// Least size.
    #[serde(deserialize_with = "size")]
    pub min: Bytes,
    /// Greatest size that makes sense; none if only memory limits it.
    #[serde(default, deserialize_with = "some_size")]
    pub max: Option<Bytes>,
    /// Whether each pass gets managed memory that nobody has touched yet; other kinds have their pages from the start.
    #[serde(default)]
    pub fresh: bool,
    /// Kinds of memory it can run over; the first is the default unless `[defaults]` names another.
    #[serde(deserialize_with = "kinds")]
    pub kinds: Vec<MemoryKind>,
}

/// One pass: `before`, then `rounds` times `round`, then `after`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassSpec {
    /// Repetitions of `round` within a pass.
    #[serde(default = "one")]
    pub rounds: u32,
    /// Phases whose host times make up the pass's time.
    pub timed: Vec<Phase>,
    /// Passes at the start of a run that do not count.
    #[serde(default = "one")]
    pub warmups: u32,
    /// Steps before the rounds.
    #[serde(default)]
    pub before: Vec<Step>,
    /// Steps of a round.
    pub round: Vec<Step>,
    /// Steps after the rounds.
    #[serde(default)]
    pub after: Vec<Step>,
}

/// Which side takes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The host.
    Cpu,
    /// The GPU.
    Gpu,
}

/// Name of an access pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PatternName {
    /// In order.
    #[default]
    Sequential,
    /// Every `stride` bytes, then the next offset.
    Strided,
    /// A permutation.
    Random,
    /// A contiguous chunk for each thread block.
    Block,
    /// One warp alone, in order.
    OneWarp,
}

/// One touch of the memory by one side.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Who.
    pub on: Side,
    /// Read, write, read-write.
    pub access: Access,
    /// In which order.
    #[serde(default)]
    pub pattern: PatternName,
    /// Distance of consecutive visits, for `strided`.
    #[serde(default, deserialize_with = "some_size")]
    pub stride: Option<Bytes>,
    /// Share of the elements that is visited, for `random`: above 0, at most 1.
    #[serde(default = "whole")]
    pub share: f64,
    /// Chooses the permutation, for `random`.
    #[serde(default = "seed")]
    pub seed: u32,
    /// How many times in a row: at least once, at most 1000 times.
    #[serde(default = "one")]
    pub repeat: u32,
}

/// Most repetitions of a step: each is a launch, and a pass should not take minutes.
const MAX_REPEAT: u32 = 1_000;

fn one() -> u32 {
    1
}

fn whole() -> f64 {
    1.0
}

fn seed() -> u32 {
    12_345
}

fn size<'de, D: Deserializer<'de>>(d: D) -> Result<Bytes, D::Error> {
    String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
}

fn some_size<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Bytes>, D::Error> {
    size(d).map(Some)
}

fn kinds<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<MemoryKind>, D::Error> {
    let kinds = Vec::<MemoryKind>::deserialize(d)?;
    if kinds.is_empty() { Err(serde::de::Error::custom("name at least one kind of memory")) } else { Ok(kinds) }
}

/// What is wrong with a workload file: where and what is allowed.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// Not TOML, or not of the form.
    #[error("{file}: {message}")]
    Form {
        /// The file.
        file: String,
        /// Line, column, and what is allowed.
        message: String,
    },
    /// Of the form, but it makes no sense.
    #[error("{file}: {message}")]
    Sense {
        /// The file.
        file: String,
        /// What does not, and what would.
        message: String,
    },
}

impl Workload {
    /// Reads a workload; `file` names it in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, WorkloadError> {
        let workload: Workload = toml::from_str(text)
            .map_err(|e| WorkloadError::Form { file: file.to_owned(), message: e.to_string().trim_end().to_owned() })?;
        workload.sense().map_err(|message| WorkloadError::Sense { file: file.to_owned(), message })?;
        Ok(workload)
    }

    fn sense(&self) -> Result<(), String> {
        let named = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(named) {
            return Err(format!("name '{}' may hold only a-z, 0-9 and '-'", self.name));
        }
        let memory = &self.memory;
        if memory.min > memory.size || memory.max.is_some_and(|max| max < memory.size) {
            return Err("memory.size must lie between memory.min and memory.max".to_owned());
        }
        if self.pass.rounds == 0 || self.pass.round.is_empty() {
            return Err("a pass needs at least one round with at least one [[pass.round]] step".to_owned());
        }
        if self.pass.timed.is_empty() {
            return Err("pass.timed must name at least one phase".to_owned());
        }
        self.variants_make_sense()?;
        self.steps().try_for_each(Step::sense)?;
        let mut samples = self.steps().filter(|s| s.share < 1.0);
        if let Some(first) = samples.next()
            && samples.any(|s| (s.share, s.seed) != (first.share, first.seed))
        {
            return Err("all sampled steps of a pass must visit the same sample: same share, same seed".to_owned());
        }
        Ok(())
    }

    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.pass.before.iter().chain(&self.pass.round).chain(&self.pass.after)
    }
}

impl Step {
    fn sense(&self) -> Result<(), String> {
        if !(self.share > 0.0 && self.share <= 1.0) {
            return Err(format!("share {} must be above 0 and at most 1", self.share));
        }
        if !(1..=MAX_REPEAT).contains(&self.repeat) {
            return Err(format!("repeat {} must be from 1 to {MAX_REPEAT}", self.repeat));
        }
        if self.share < 1.0 && self.pattern != PatternName::Random {
            return Err("share below 1 needs pattern = \"random\"".to_owned());
        }
        match (self.pattern, self.stride) {
            (PatternName::Strided, None) => Err("pattern = \"strided\" needs a stride, such as \"64KiB\"".to_owned()),
            (PatternName::Strided, Some(s)) if s.0 % 4 != 0 => Err(format!("stride {s} must be a multiple of 4 bytes")),
            (PatternName::Strided, Some(_)) | (_, None) => Ok(()),
            (_, Some(_)) => Err("stride belongs to pattern = \"strided\"".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(from: &str, to: &str) -> Result<Workload, WorkloadError> {
        let text = include_str!("../../workloads/random.toml");
        assert!(text.contains(from), "{from}");
        Workload::parse("my.toml", &text.replace(from, to))
    }

    #[test]
    fn an_unknown_field_is_refused_with_its_place_and_what_is_allowed() {
        let error = edited("share =", "shard =").unwrap_err().to_string();
        assert!(error.starts_with("my.toml: ") && error.contains("line 2") && error.contains("`share`"), "{error}");
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        for (from, to, says) in [
            ("share = 0.000244140625", "share = 0.0", "above 0"),
            ("pattern = \"random\"", "pattern = \"sequential\"", "needs pattern = \"random\""),
            ("share = 0.000244140625", "repeat = 0", "from 1 to 1000"),
            ("name = \"random\"", "name = \"Random Access\"", "may hold only"),
            ("size = \"256MiB\"", "size = \"1KiB\"", "between memory.min"),
            ("size = \"256MiB\"", "size = \"much\"", "not a size"),
            ("\"managed\", ", "\"mangaed\", ", "managed"),
        ] {
            let error = edited(from, to).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
