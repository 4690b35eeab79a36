//! What the user chooses for a run.

use crate::units::{Bytes, PAGE};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A name that is not one of the allowed ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} '{name}': choose one of {allowed}")]
pub struct UnknownName {
    what: &'static str,
    name: String,
    allowed: String,
}

macro_rules! named {
    ($(#[$meta:meta])* $what:literal $type:ident { $($(#[$vmeta:meta])* $variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $type {
            $($(#[$vmeta])* #[serde(rename = $name)] $variant),+
        }

        impl $type {
            /// Every value, in menu order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name used in flags, files and on the screen.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The next value in menu order, the first after the last.
            pub fn next(self) -> Self {
                let at = Self::ALL.iter().position(|v| *v == self).unwrap_or(0);
                Self::ALL[(at + 1) % Self::ALL.len()]
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<Self, UnknownName> {
                Self::ALL.iter().copied().find(|v| v.name() == text).ok_or_else(|| UnknownName {
                    what: $what,
                    name: text.to_owned(),
                    allowed: Self::ALL.iter().map(|v| v.name()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}

named! {
    /// The kind of memory a workload runs over.
    "memory kind" MemoryKind {
        /// `cuMemAllocManaged`: one pointer, pages migrate.
        Managed = "managed",
        /// Pinned host memory, device memory and explicit copies.
        Explicit = "explicit",
        /// Ordinary host memory, device memory and explicit copies.
        Pageable = "pageable",
        /// Pinned host memory that the GPU maps and reads over the link.
        ZeroCopy = "zero-copy",
    }
}

named! {
    /// Advice given to the driver about managed memory. "The GPU" is the workload's own.
    "advice" Advice {
        /// None.
        None = "none",
        /// Reads make copies, a write leaves one.
        ReadMostly = "read-mostly",
        /// The GPU's memory is the preferred location.
        PreferredGpu = "preferred-gpu",
        /// Host memory is the preferred location.
        PreferredCpu = "preferred-cpu",
        /// The GPU gets mappings instead of faulting.
        AccessedByGpu = "accessed-by",
        /// Host memory preferred and mapped by the GPU: remote access over the link, no migration.
        PreferredCpuAccessedBy = "preferred-cpu+accessed-by",
        /// The second GPU's memory is the preferred location.
        PreferredSecondGpu = "preferred-gpu:1",
        /// The second GPU gets mappings instead of faulting.
        AccessedBySecondGpu = "accessed-by-gpu:1",
    }
}

impl Advice {
    /// The GPU that it names: 0 for the workload's own, 1 for the second; `None` if it names none.
    pub const fn gpu(self) -> Option<u16> {
        match self {
            Advice::None | Advice::PreferredCpu => None,
            // The driver wants one and does not heed it.
            Advice::ReadMostly => Some(0),
            Advice::PreferredGpu | Advice::AccessedByGpu | Advice::PreferredCpuAccessedBy => Some(0),
            Advice::PreferredSecondGpu | Advice::AccessedBySecondGpu => Some(1),
        }
    }

    /// Why it is not to be had where there are so many GPUs; `None` if it is.
    pub fn lacks(self, gpus: u32) -> Option<&'static str> {
        let beyond = self.gpu().is_some_and(|n| u32::from(n) >= gpus.max(1));
        beyond.then_some("it names a second GPU, and there is only one")
    }
}

named! {
    /// How closely the UVM driver is watched.
    "trace level" TraceLevel {
        /// Nothing.
        Off = "off",
        /// The counter page only: exact bytes each way and counted faults.
        Counters = "counters",
        /// Also every fault, batch, thrash, throttle and remote map.
        Faults = "faults",
        /// Also every migration with its cause; slows a fault-bound sweep.
        Full = "full",
    }
}

named! {
    /// In which order elements are visited; see `device::Pattern`.
    "access pattern" AccessPattern {
        /// Ascending, neighbouring threads side by side.
        Sequential = "sequential",
        /// Every so many bytes, then the next offset.
        Strided = "strided",
        /// A permutation.
        Random = "random",
        /// A contiguous chunk for each thread block.
        Block = "block",
        /// One warp alone, ascending.
        OneWarp = "one-warp",
    }
}

/// The size of the pieces in which data moves: a copy or a prefetch for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Piece {
    /// All in one.
    Whole,
    /// So much at a time.
    Size(Bytes),
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Piece::Whole => f.pad("whole"),
            Piece::Size(bytes) => f.pad(&bytes.to_string()),
        }
    }
}

impl FromStr for Piece {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "whole" {
            return Ok(Piece::Whole);
        }
        match text.parse::<Bytes>() {
            Ok(bytes) if bytes.0 > 0 && bytes.0 % PAGE == 0 => Ok(Piece::Size(bytes)),
            Ok(bytes) => Err(format!("a piece of {bytes} is not a multiple of 4 KiB")),
            Err(e) => Err(format!("{e}, or whole")),
        }
    }
}

impl TryFrom<String> for Piece {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Piece> for String {
    fn from(piece: Piece) -> String {
        match piece {
            Piece::Whole => "whole".to_owned(),
            // To the byte: what is written must read back the same.
            Piece::Size(bytes) => format!("{} B", bytes.0),
        }
    }
}

/// The shape of a pass where it differs from what the workload's file says; `None` is as the file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shape {
    /// Order of the GPU's visits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<AccessPattern>,
    /// Pieces in which data moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piece: Option<Piece>,
    /// Rounds in a pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// In how many allocations the footprint is had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocations: Option<u32>,
}

impl Shape {
    /// Whether it is all as the file says.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// For people: ` pattern random, pieces of 64 KiB`; empty if plain.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.pattern.map(|p| format!("{p}")),
            self.piece.map(|p| match p {
                Piece::Whole => "in one piece".to_owned(),
                Piece::Size(size) => format!("in pieces of {size}"),
            }),
            self.rounds.map(|n| format!("{n} rounds")),
            self.allocations.map(|n| format!("{n} allocation{}", if n == 1 { "" } else { "s" })),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// Everything that a user can set about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Name of the workload.
    pub workload: String,
    /// Kind of memory.
    pub memory: MemoryKind,
    /// Whether each side's turn is preceded by a prefetch to it.
    pub prefetch: bool,
    /// Advice.
    pub advice: Advice,
    /// Footprint.
    pub size: Bytes,
    /// Trace level asked for.
    pub trace: TraceLevel,
    /// What differs from the workload's file.
    #[serde(default, skip_serializing_if = "Shape::is_plain")]
    pub shape: Shape,
}
