//! What a script of faults may say.

use std::str::FromStr;

/// A kind of call to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Call {
    Memory,
    Alloc,
    Free,
    Advise,
    Transfer,
    /// A touch by a GPU.
    Kernel,
    /// A touch by the CPU.
    Host,
    Overlap,
    Recover,
}

/// Every call: its name in a script, and the driver's function that would fail.
const CALLS: [(Call, &str, &str); 9] = [
    (Call::Memory, "memory", "cuMemGetInfo_v2"),
    (Call::Alloc, "alloc", "cuMemAllocManaged"),
    (Call::Free, "free", "cuMemFree_v2"),
    (Call::Advise, "advise", "cuMemAdvise"),
    (Call::Transfer, "transfer", "cuMemPrefetchAsync"),
    (Call::Kernel, "kernel", "cuStreamSynchronize"),
    (Call::Host, "host", "cuStreamSynchronize"),
    (Call::Overlap, "overlap", "cuStreamSynchronize"),
    (Call::Recover, "recover", "cuDevicePrimaryCtxReset_v2"),
];

/// Names of codes (CUDA driver API, `CUresult`) that scripts use.
const NAMES: [(u32, &str); 8] = [
    (1, "CUDA_ERROR_INVALID_VALUE"),
    (2, "CUDA_ERROR_OUT_OF_MEMORY"),
    (214, "CUDA_ERROR_ECC_UNCORRECTABLE"),
    (700, "CUDA_ERROR_ILLEGAL_ADDRESS"),
    (701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"),
    (702, "CUDA_ERROR_LAUNCH_TIMEOUT"),
    (719, "CUDA_ERROR_LAUNCH_FAILED"),
    (999, "CUDA_ERROR_UNKNOWN"),
];

/// The name of a code; empty where the script's table has none, as with a driver that knows none.
pub(super) fn name(code: u32) -> String {
    NAMES.iter().find(|(known, _)| *known == code).map_or_else(String::new, |(_, name)| (*name).to_owned())
}

impl Call {
    pub(super) fn name(self) -> &'static str {
        CALLS.iter().find(|(call, ..)| *call == self).map_or("", |(_, name, _)| name)
    }

    pub(super) fn driver(self) -> &'static str {
        CALLS.iter().find(|(call, ..)| *call == self).map_or("", |(.., driver)| driver)
    }
}

/// What a call comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The driver's code.
    Error(u32),
    /// It never returns.
    Hang,
    /// It returns, with a check that failed.
    Wrong,
    /// The thread panics.
    Panic,
    /// A recovery that does not succeed.
    Restart,
    /// No memory is free.
    Full,
}

/// What the device is without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    Managed,
    Concurrent,
}

/// One rule of a script: `CALL@N=ANSWER` (the Nth call), `CALL@N+=ANSWER` (from the Nth on), `no-managed`, `no-concurrent`,
/// or `ledger` (at its end the device says on standard error what was allocated and given back).
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(private_interfaces, reason = "rules are made from text only")]
pub enum Rule {
    /// What a call answers.
    At {
        /// Which call.
        call: Call,
        /// The first one to be answered so, from 1.
        number: u64,
        /// Whether later ones are, too.
        later: bool,
        /// What.
        answer: Answer,
    },
    /// What the device cannot do.
    Lacks(Lack),
    /// The ledger is told.
    Ledger,
}

/// A rule that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no fault: write CALL@N=ANSWER or CALL@N+=ANSWER, with a call of memory, alloc, free, advise, transfer, \
     kernel, host, overlap, recover and an answer of hang, wrong, panic, restart, full or a CUresult such as 700; \
     or no-managed, no-concurrent, ledger"
)]
pub struct ScriptError(String);

impl Rule {
    /// What this rule answers to the `number`th call, if it is about that.
    pub(super) fn answer(&self, asked: Call, asked_number: u64) -> Option<Answer> {
        match *self {
            Rule::At { call, number, later, answer } if call == asked => {
                (asked_number == number || later && asked_number > number).then_some(answer)
            }
            _ => None,
        }
    }
}

impl FromStr for Rule {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let at = || {
            let (place, answer) = text.split_once('=')?;
            let (call, number) = place.split_once('@')?;
            let (number, later) = number.strip_suffix('+').map_or((number, false), |number| (number, true));
            Some(Rule::At {
                call: CALLS.iter().find(|(_, name, _)| *name == call)?.0,
                number: number.parse().ok().filter(|number| *number > 0)?,
                later,
                answer: match answer {
                    "hang" => Answer::Hang,
                    "wrong" => Answer::Wrong,
                    "panic" => Answer::Panic,
                    "restart" => Answer::Restart,
                    "full" => Answer::Full,
                    code => Answer::Error(code.parse().ok().filter(|code| *code > 0)?),
                },
            })
        };
        match text {
            "no-managed" => Ok(Rule::Lacks(Lack::Managed)),
            "no-concurrent" => Ok(Rule::Lacks(Lack::Concurrent)),
            "ledger" => Ok(Rule::Ledger),
            _ => at().ok_or_else(|| ScriptError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_nonsense_is_refused() {
        let rule: Rule = "kernel@3+=700".parse().unwrap();
        assert_eq!(rule.answer(Call::Kernel, 2), None);
        assert_eq!(rule.answer(Call::Kernel, 9), Some(Answer::Error(700)));
        assert_eq!(rule.answer(Call::Host, 3), None);
        assert_eq!("alloc@2=2".parse::<Rule>().unwrap().answer(Call::Alloc, 3), None);
        for text in ["", "kernel", "kernel@0=700", "kernel@1=0", "kernel@1=boom", "dance@1=2", "alloc@x=2", "=", "@="] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
    }
}
