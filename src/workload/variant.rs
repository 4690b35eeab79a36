//! Which memory, prefetch and advice a workload runs with: its own defaults, and what is put in their place.

use super::file::{MAX_ALLOCATIONS, MAX_ROUNDS, Workload};
use crate::event::{AccessPattern, Advice, MemoryKind, Piece, Settings, Shape, TraceLevel};
use crate::units::Bytes;
use serde::Deserialize;

/// What was said about memory, prefetch and advice, by a file or by flags; `None` where nothing was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Kind of memory.
    pub memory: Option<MemoryKind>,
    /// Prefetch to each side before its turn.
    pub prefetch: Option<bool>,
    /// Advice.
    pub advice: Option<Advice>,
    /// Order of the GPU's visits.
    pub pattern: Option<AccessPattern>,
    /// Pieces in which data moves.
    pub piece: Option<Piece>,
    /// Rounds in a pass.
    pub rounds: Option<u32>,
    /// In how many allocations the footprint is had.
    pub allocations: Option<u32>,
}

/// One of the variants that a workload compares.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Name for people.
    pub name: String,
    /// Kind of memory, if not the default.
    pub memory: Option<MemoryKind>,
    /// Prefetch, if not the default.
    pub prefetch: Option<bool>,
    /// Advice, if not the default.
    pub advice: Option<Advice>,
    /// Order of the GPU's visits.
    pub pattern: Option<AccessPattern>,
    /// Pieces in which data moves.
    pub piece: Option<Piece>,
    /// Rounds in a pass.
    pub rounds: Option<u32>,
    /// In how many allocations the footprint is had.
    pub allocations: Option<u32>,
}

/// Memory, prefetch, advice and shape together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Kind of memory.
    pub memory: MemoryKind,
    /// Prefetch to each side before its turn.
    pub prefetch: bool,
    /// Advice.
    pub advice: Advice,
    /// The shape of a pass.
    pub shape: Shape,
}

impl Member {
    /// What it puts in place of the defaults.
    pub fn choice(&self) -> Choice {
        let Self { memory, prefetch, advice, pattern, piece, rounds, allocations, .. } = *self;
        Choice { memory, prefetch, advice, pattern, piece, rounds, allocations }
    }
}

impl Choice {
    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Workload {
    /// The variant of a choice; what it leaves open is the file's default. Default hints are for managed memory, so over
    /// another kind there are none.
    pub fn variant(&self, choice: Choice) -> Variant {
        let memory = choice.memory.or(self.defaults.memory).unwrap_or(self.memory.kinds[0]);
        let hints = if memory == MemoryKind::Managed { self.defaults } else { Choice::default() };
        Variant {
            memory,
            prefetch: choice.prefetch.or(hints.prefetch).unwrap_or(false),
            advice: choice.advice.or(hints.advice).unwrap_or(Advice::None),
            shape: Shape {
                pattern: choice.pattern.or(self.defaults.pattern),
                piece: choice.piece.or(self.defaults.piece),
                rounds: choice.rounds.or(self.defaults.rounds),
                allocations: choice.allocations.or(self.defaults.allocations),
            },
        }
    }

    /// What the file calls these settings among those that it compares.
    pub fn label(&self, settings: &Settings) -> Option<&str> {
        let Settings { memory, prefetch, advice, shape, .. } = *settings;
        let ran = Variant { memory, prefetch, advice, shape };
        self.compare.iter().find(|member| self.variant(member.choice()) == ran).map(|member| member.name.as_str())
    }

    /// The variants that it compares; the default alone if it names none.
    pub fn variants(&self) -> Vec<Variant> {
        if self.compare.is_empty() {
            return vec![self.variant(Choice::default())];
        }
        self.compare.iter().map(|member| self.variant(member.choice())).collect()
    }

    /// Settings to run a variant with.
    pub fn settings(&self, variant: Variant, size: Bytes, trace: TraceLevel) -> Settings {
        let Variant { memory, prefetch, advice, shape } = variant;
        Settings { workload: self.name.clone(), memory, prefetch, advice, size, trace, shape }
    }

    /// Defaults and members must be of memory that the workload runs over, each with hints that mean something.
    pub(super) fn variants_make_sense(&self) -> Result<(), String> {
        let members = self.compare.iter().map(|m| (format!("[[compare]] '{}'", m.name), m.choice()));
        for (place, choice) in [("[defaults]".to_owned(), self.defaults)].into_iter().chain(members) {
            let memory = self.variant(choice).memory;
            if !self.memory.kinds.contains(&memory) {
                return Err(format!("{place}: memory = \"{memory}\" must be one of memory.kinds"));
            }
            let hinted = choice.prefetch == Some(true) || choice.advice.is_some_and(|a| a != Advice::None);
            if memory != MemoryKind::Managed && hinted {
                return Err(format!("{place}: prefetch and advice are for managed memory, not for {memory}"));
            }
            let within = |number: Option<u32>, most: u32| number.is_none_or(|number| (1..=most).contains(&number));
            if !within(choice.rounds, MAX_ROUNDS) || !within(choice.allocations, MAX_ALLOCATIONS) {
                let most = format!("1 to {MAX_ROUNDS} rounds and 1 to {MAX_ALLOCATIONS} allocations");
                return Err(format!("{place}: there may be {most}"));
            }
            if choice.allocations.is_some() && !self.memory.arrays.is_empty() {
                return Err(format!("{place}: memory with named arrays is divided into just these"));
            }
        }
        for (i, member) in self.compare.iter().enumerate() {
            let variant = self.variant(member.choice());
            if let Some(twin) = self.compare[..i].iter().find(|m| self.variant(m.choice()) == variant) {
                return Err(format!("[[compare]] '{}' is the same as '{}'", member.name, twin.name));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(more: &str) -> Result<Workload, String> {
        let text = include_str!("../../workloads/sequential.toml").replace("[memory]", &format!("{more}\n[memory]"));
        Workload::parse("my.toml", &text).map_err(|e| e.to_string())
    }

    #[test]
    fn a_choice_goes_before_the_defaults_and_hints_stay_with_managed_memory() {
        let workload = with("[defaults]\nprefetch = true\nadvice = \"read-mostly\"\n").unwrap();
        let variant = |choice| workload.variant(choice);
        let shape = Shape::default();
        let default = Variant { memory: MemoryKind::Managed, prefetch: true, advice: Advice::ReadMostly, shape };
        assert_eq!(variant(Choice::default()), default);
        let off = Choice { prefetch: Some(false), ..Choice::default() };
        assert_eq!(variant(off), Variant { prefetch: false, ..default });
        let explicit = Choice { memory: Some(MemoryKind::Explicit), ..Choice::default() };
        assert_eq!(
            variant(explicit),
            Variant { memory: MemoryKind::Explicit, prefetch: false, advice: Advice::None, shape },
            "a copy takes no hints"
        );
    }

    #[test]
    fn members_that_make_no_sense_are_refused_in_words() {
        for (more, says) in [
            ("[[compare]]\nname = \"x\"\nmemory = \"pageable\"\nprefetch = true\n", "'x': prefetch and advice"),
            ("[[compare]]\nname = \"x\"\n[[compare]]\nname = \"y\"\nprefetch = false\n", "'y' is the same as 'x'"),
            ("[[compare]]\nmemory = \"pageable\"\n", "missing field `name`"),
            ("[defaults]\nsize = \"1MiB\"\n", "unknown field `size`"),
        ] {
            let error = with(more).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        let narrow = include_str!("../../workloads/sequential.toml")
            .replace("\"managed\", ", "")
            .replace("[memory]", "[defaults]\nmemory = \"managed\"\n[memory]");
        let error = Workload::parse("my.toml", &narrow).unwrap_err().to_string();
        assert!(error.contains("must be one of memory.kinds"), "{error}");
    }
}
