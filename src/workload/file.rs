//! What a workload file says.

use super::step::{Side, Step, order_makes_sense};
use super::variant::{Choice, Member};
use crate::event::{MemoryKind, Phase, Prediction};
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
    /// What the figures of a bench must show if the prediction holds.
    #[serde(default)]
    pub expect: Vec<Prediction>,
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
    /// Names of the arrays that the footprint is divided into evenly, each an allocation of its own.
    #[serde(default)]
    pub arrays: Vec<String>,
    /// In how many allocations the footprint is had, if they need no names.
    #[serde(default = "one")]
    pub allocations: u32,
    /// The default size as a share of the GPU's memory, where that is known; `size` otherwise.
    #[serde(default)]
    pub of_gpu: Option<f64>,
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

/// Most allocations: each takes a launch in every touch.
pub(super) const MAX_ALLOCATIONS: u32 = 65_536;
/// Most rounds of a pass, as on the command line: a pass should not take hours, and all of it is thought through before.
pub(super) const MAX_ROUNDS: u32 = 1_000_000;
/// Most arrays with names.
const MAX_ARRAYS: usize = 16;
/// Beyond twice the card's memory nothing new is seen, and a pass takes minutes.
const MAX_OF_GPU: f64 = 2.0;

fn one() -> u32 {
    1
}

fn size<'de, D: Deserializer<'de>>(d: D) -> Result<Bytes, D::Error> {
    String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
}

pub(super) fn some_size<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Bytes>, D::Error> {
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
        if self.pass.rounds > MAX_ROUNDS {
            return Err(format!("pass.rounds: a pass takes at most {MAX_ROUNDS} rounds"));
        }
        if self.pass.timed.is_empty() {
            return Err("pass.timed must name at least one phase".to_owned());
        }
        if !(1..=MAX_ALLOCATIONS).contains(&memory.allocations) || memory.arrays.len() > MAX_ARRAYS {
            return Err(format!("memory takes up to {MAX_ALLOCATIONS} allocations, or up to {MAX_ARRAYS} arrays"));
        }
        if memory.allocations > 1 && !memory.arrays.is_empty() {
            return Err("memory takes allocations or arrays, not both".to_owned());
        }
        if memory.of_gpu.is_some_and(|share| !(share > 0.0 && share <= MAX_OF_GPU)) {
            return Err(format!("memory.of_gpu must be above 0 and at most {MAX_OF_GPU}"));
        }
        self.variants_make_sense()?;
        self.predictions_make_sense()?;
        let steps: Vec<&Step> = self.steps().collect();
        steps.iter().try_for_each(|step| step.sense(&memory.arrays))?;
        let pass = &self.pass;
        if [&pass.round, &pass.after].iter().any(|part| part.first().is_some_and(|s| s.at_once)) {
            return Err("at_once: the step before must be of the same part of the pass".to_owned());
        }
        let managed_only = memory.kinds.iter().all(|kind| *kind == MemoryKind::Managed);
        if steps.iter().any(|s| s.on == Side::Peer) && !managed_only {
            return Err("steps on \"gpu:1\" need memory.kinds = [\"managed\"]".to_owned());
        }
        order_makes_sense(&steps)
    }

    fn predictions_make_sense(&self) -> Result<(), String> {
        for prediction in &self.expect {
            for name in prediction.of.iter().chain(&prediction.over) {
                if !self.compare.iter().any(|member| member.name == *name) {
                    return Err(format!("[[expect]]: there is no [[compare]] '{name}'"));
                }
            }
            if prediction.at_least.is_none() && prediction.at_most.is_none() {
                return Err("[[expect]] needs at_least or at_most".to_owned());
            }
        }
        Ok(())
    }

    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.pass.before.iter().chain(&self.pass.round).chain(&self.pass.after)
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
            ("[pass]", "[pass]\nrounds = 4000000000", "at most 1000000 rounds"),
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
