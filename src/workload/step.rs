//! One step of a pass, as a file says it.

use crate::device::Access;
use crate::event::{AccessPattern, Proc};
use crate::units::Bytes;
use serde::Deserialize;

/// Which side takes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Side {
    /// The host.
    #[serde(rename = "cpu")]
    Cpu,
    /// The GPU.
    #[serde(rename = "gpu")]
    Gpu,
    /// A second GPU.
    #[serde(rename = "gpu:1")]
    Peer,
}

impl Side {
    /// As the device numbers it.
    pub fn proc(self) -> Proc {
        match self {
            Side::Cpu => Proc::Cpu,
            Side::Gpu => Proc::Gpu(0),
            Side::Peer => Proc::Gpu(1),
        }
    }
}

/// One touch of the memory by one side.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Who.
    pub on: Side,
    /// Read, write, read-write; add: the sum of two other arrays is written.
    pub access: Access,
    /// In which order.
    #[serde(default = "sequential")]
    pub pattern: AccessPattern,
    /// Distance of consecutive visits, for `strided`.
    #[serde(default, deserialize_with = "super::file::some_size")]
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
    /// Which of `memory.arrays`; none for each of them in turn.
    #[serde(default)]
    pub array: Option<String>,
    /// The two arrays that `add` reads.
    #[serde(default)]
    pub from: Option<[String; 2]>,
    /// How often a kernel does its arithmetic on each element, for `read-write` on a GPU.
    #[serde(default = "one")]
    pub work: u32,
    /// The part of each array that is read: two shares of its length, from and to. For the last step of a pass.
    #[serde(default)]
    pub part: Option<[f64; 2]>,
    /// Whether the data comes piece by piece, each with a kernel of its own, on two streams: while one piece is worked
    /// on, the next is under way.
    #[serde(default)]
    pub pipelined: bool,
    /// Whether it runs at the same time as the step before it.
    #[serde(default)]
    pub at_once: bool,
}

/// Most repetitions of a step: each is a launch, and a pass should not take minutes.
const MAX_REPEAT: u32 = 1_000;
/// Most arithmetic on an element: at 256 MiB that is some seconds of a large GPU.
const MAX_WORK: u32 = 100_000;

fn one() -> u32 {
    1
}

fn whole() -> f64 {
    1.0
}

fn seed() -> u32 {
    12_345
}

fn sequential() -> AccessPattern {
    AccessPattern::Sequential
}

impl Step {
    /// Whether every element of what it touches is visited.
    pub fn is_whole(&self) -> bool {
        self.share >= 1.0 && self.part.is_none()
    }

    /// Whether what was there before does not matter.
    pub fn overwrites(&self) -> bool {
        matches!(self.access, Access::Write | Access::Add) && self.is_whole()
    }

    /// What makes no sense in the step by itself, and what would.
    pub(super) fn sense(&self, arrays: &[String]) -> Result<(), String> {
        if !(self.share > 0.0 && self.share <= 1.0) {
            return Err(format!("share {} must be above 0 and at most 1", self.share));
        }
        if !(1..=MAX_REPEAT).contains(&self.repeat) {
            return Err(format!("repeat {} must be from 1 to {MAX_REPEAT}", self.repeat));
        }
        if self.share < 1.0 && self.pattern != AccessPattern::Random {
            return Err("share below 1 needs pattern = \"random\"".to_owned());
        }
        self.stride_makes_sense()?;
        self.arrays_make_sense(arrays)?;
        let in_order = self.pattern == AccessPattern::Sequential && self.is_whole();
        let computes = self.access == Access::ReadWrite && self.on != Side::Cpu && in_order;
        if !(1..=MAX_WORK).contains(&self.work) || (self.work > 1 && !computes) {
            return Err(format!(
                "work {} must be from 1 to {MAX_WORK}, on a GPU, with access = \"read-write\" in order",
                self.work
            ));
        }
        if self.pipelined && (self.on == Side::Cpu || !self.is_whole() || self.repeat > 1 || self.access == Access::Add)
        {
            return Err("pipelined is for one whole touch by a GPU".to_owned());
        }
        if let Some([from, to]) = self.part
            && !(self.access == Access::Read && self.share >= 1.0 && 0.0 <= from && from < to && to <= 1.0)
        {
            return Err("part = [from, to] is for access = \"read\", with 0 ≤ from < to ≤ 1".to_owned());
        }
        Ok(())
    }

    fn stride_makes_sense(&self) -> Result<(), String> {
        match (self.pattern, self.stride) {
            (AccessPattern::Strided, None) => Err("pattern = \"strided\" needs a stride, such as \"64KiB\"".to_owned()),
            (AccessPattern::Strided, Some(s)) if s.0 % 4 != 0 => {
                Err(format!("stride {s} must be a multiple of 4 bytes"))
            }
            (AccessPattern::Strided, Some(_)) | (_, None) => Ok(()),
            (_, Some(_)) => Err("stride belongs to pattern = \"strided\"".to_owned()),
        }
    }

    fn arrays_make_sense(&self, arrays: &[String]) -> Result<(), String> {
        let named = self.array.iter().chain(self.from.iter().flatten());
        for name in named {
            if !arrays.contains(name) {
                return Err(format!("array \"{name}\" is not one of memory.arrays"));
            }
        }
        match (self.access, &self.from, &self.array) {
            (Access::Add, Some(from), Some(array)) if !from.contains(array) && self.on != Side::Cpu => {
                let plain = self.pattern == AccessPattern::Sequential && self.is_whole();
                if plain { Ok(()) } else { Err("access = \"add\" visits all of its arrays in order".to_owned()) }
            }
            (Access::Add, ..) => {
                Err("access = \"add\" is a GPU's, and needs array = \"c\" and from = [\"a\", \"b\"]".to_owned())
            }
            (_, Some(_), _) => Err("from belongs to access = \"add\"".to_owned()),
            _ => Ok(()),
        }
    }
}

/// Rules about steps in their order.
pub(super) fn order_makes_sense(steps: &[&Step]) -> Result<(), String> {
    let mut samples = steps.iter().filter(|s| s.share < 1.0);
    if let Some(first) = samples.next()
        && samples.any(|s| (s.share, s.seed) != (first.share, first.seed))
    {
        return Err("all sampled steps of a pass must visit the same sample: same share, same seed".to_owned());
    }
    let last = steps.len().saturating_sub(1);
    if steps.iter().enumerate().any(|(i, s)| s.part.is_some() && (i != last || !steps[0].overwrites())) {
        return Err("part is for the last step of a pass that begins by writing everything".to_owned());
    }
    if steps.first().is_some_and(|s| s.at_once) {
        return Err("at_once: there is no step before the first one".to_owned());
    }
    steps.chunk_by(|_, next| next.at_once).filter(|group| group.len() > 1).try_for_each(group_makes_sense)
}

/// Steps that run at the same time must leave the same in memory whichever is quicker.
fn group_makes_sense(group: &[&Step]) -> Result<(), String> {
    for (i, step) in group.iter().enumerate() {
        if group[..i].iter().any(|other| other.on == step.on) {
            return Err("at_once: each step must be on a side of its own".to_owned());
        }
        if step.pipelined || step.access == Access::Add {
            return Err("at_once does not go with pipelined or add".to_owned());
        }
        let meets = |other: &&&Step| other.array == step.array || other.array.is_none() || step.array.is_none();
        let alike =
            |a: &Step, b: &Step| a.access == b.access && a.access != Access::ReadWrite && a.is_whole() && b.is_whole();
        if group[..i].iter().filter(meets).any(|other| !alike(other, step)) {
            return Err("at_once: steps that share an array must all read it whole, or all write it whole".to_owned());
        }
    }
    Ok(())
}
