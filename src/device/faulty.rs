//! A device that fails where a script says so, to see what becomes of umtop when hardware does.
//!
//! What a rule looks like is said in CONTRIBUTING.md. After a sticky error every call fails until the recovery, as the
//! driver has it.

mod script;

pub use script::{Rule, ScriptError};

use super::{Buffer, Device, DeviceError, Lane, MemoryFree, Op, Part, Recovery, Span, Touch, Touched, Transfer, cuda};
use crate::event::{Advice, Can, Caps, Check, MemoryKind, Proc};
use crate::units::{Bytes, Stamp};
use script::{Answer, Call, Lack};
use std::collections::{BTreeMap, BTreeSet};

/// A device with a script. It also keeps a ledger of what was allocated and given back.
pub struct Faulty {
    inner: Box<dyn Device>,
    rules: Vec<Rule>,
    caps: Caps,
    calls: BTreeMap<Call, u64>,
    /// The code of a sticky error that has not been recovered from.
    lost: Option<u32>,
    ledger: Ledger,
}

/// What became of allocations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ledger {
    allocated: u64,
    freed: u64,
    lost_in_recovery: u64,
    held: BTreeSet<u32>,
}

impl Faulty {
    /// Puts the script before a device.
    pub fn new(inner: Box<dyn Device>, rules: Vec<Rule>) -> Self {
        let mut caps = inner.caps().clone();
        let no = |why: &str| Can::No(why.to_owned());
        for rule in &rules {
            match rule {
                Rule::Lacks(Lack::Managed) => caps.managed = no(cuda::NO_MANAGED),
                Rule::Lacks(Lack::Concurrent) => {
                    caps.concurrent = no(cuda::NO_CONCURRENT);
                    (caps.prefetch, caps.advise) = (no(cuda::NO_HINTS), no(cuda::NO_HINTS));
                }
                Rule::At { .. } | Rule::Ledger => {}
            }
        }
        Self { inner, rules, caps, calls: BTreeMap::new(), lost: None, ledger: Ledger::default() }
    }

    /// What the script answers to this call; `None` lets the device answer.
    fn answer(&mut self, call: Call) -> Result<Option<Answer>, DeviceError> {
        let number = self.calls.entry(call).or_default();
        *number += 1;
        let number = *number;
        if let Some(code) = self.lost.filter(|_| call != Call::Recover) {
            return Err(cuda::driver_error(call.driver(), code, script::name(code)));
        }
        match self.rules.iter().find_map(|rule| rule.answer(call, number)) {
            Some(Answer::Error(code)) => {
                let error = cuda::driver_error(call.driver(), code, script::name(code));
                self.lost = error.sticky().then_some(code);
                Err(error)
            }
            Some(Answer::Hang) => {
                let _ = crossbeam_channel::never::<()>().recv();
                Ok(None)
            }
            #[expect(clippy::panic, reason = "this is what the script asks for")]
            Some(Answer::Panic) => panic!("scripted: {} call {number}", call.name()),
            other => Ok(other),
        }
    }

    /// Without concurrent access the host must leave managed memory alone while a kernel runs: there it would end the
    /// program with a SIGSEGV, here it is an error that tests see.
    fn refuse_host_beside_gpu(&self, lanes: &[Lane]) -> Result<(), DeviceError> {
        let host =
            |op: &Op| matches!(op, Op::Touch { buffer, on: Proc::Cpu, .. } if buffer.kind == MemoryKind::Managed);
        let gpu = |op: &Op| matches!(op, Op::Touch { on: Proc::Gpu(_), .. });
        let ops = || lanes.iter().flatten();
        if self.caps.concurrent.yes() || !(ops().any(host) && ops().any(gpu)) {
            return Ok(());
        }
        Err(DeviceError::Misuse("the CPU touched managed memory while a kernel ran".to_owned()))
    }
}

/// A check that failed, whether or not there was one.
fn wrong(touched: Touched, elements: u64) -> Touched {
    Touched { check: Some(Check { elements, wrong: 1 }), ..touched }
}

impl Device for Faulty {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn now(&self) -> Stamp {
        self.inner.now()
    }

    fn memory(&mut self) -> Result<MemoryFree, DeviceError> {
        let answer = self.answer(Call::Memory)?;
        let free = self.inner.memory()?;
        Ok(if answer == Some(Answer::Full) { MemoryFree { vram_free: Bytes(0), ..free } } else { free })
    }

    fn alloc(&mut self, kind: MemoryKind, bytes: Bytes) -> Result<Buffer, DeviceError> {
        self.answer(Call::Alloc)?;
        let buffer = self.inner.alloc(kind, bytes)?;
        self.ledger.allocated += 1;
        self.ledger.held.insert(buffer.id);
        Ok(buffer)
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.answer(Call::Free)?;
        self.inner.free(buffer)?;
        self.ledger.freed += u64::from(self.ledger.held.remove(&buffer.id));
        Ok(())
    }

    fn advise(&mut self, buffer: Buffer, advice: Advice, set: bool) -> Result<(), DeviceError> {
        self.answer(Call::Advise)?;
        self.inner.advise(buffer, advice, set)
    }

    fn transfer(&mut self, buffer: Buffer, part: Part, how: Transfer, to: Proc) -> Result<Span, DeviceError> {
        self.answer(Call::Transfer)?;
        self.inner.transfer(buffer, part, how, to)
    }

    fn touch(&mut self, buffer: Buffer, on: Proc, touch: &Touch) -> Result<Touched, DeviceError> {
        let answer = self.answer(if on == Proc::Cpu { Call::Host } else { Call::Kernel })?;
        let touched = self.inner.touch(buffer, on, touch)?;
        Ok(if answer == Some(Answer::Wrong) { wrong(touched, touch.count) } else { touched })
    }

    fn overlap(&mut self, lanes: &[Lane]) -> Result<Touched, DeviceError> {
        let answer = self.answer(Call::Overlap)?;
        self.refuse_host_beside_gpu(lanes)?;
        let touched = self.inner.overlap(lanes)?;
        Ok(if answer == Some(Answer::Wrong) { wrong(touched, 1) } else { touched })
    }

    fn recover(&mut self) -> Result<Recovery, DeviceError> {
        // Whatever comes of it, the buffers are gone.
        self.ledger.lost_in_recovery += std::mem::take(&mut self.ledger.held).len() as u64;
        if self.answer(Call::Recover)? == Some(Answer::Restart) {
            return Ok(Recovery::RestartNeeded);
        }
        let recovery = self.inner.recover()?;
        self.lost = None;
        Ok(recovery)
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        if self.rules.contains(&Rule::Ledger) {
            let Ledger { allocated, freed, lost_in_recovery, held } = &self.ledger;
            let held = held.len();
            let line = format!("ledger: {allocated} allocated, {freed} freed, {lost_in_recovery} lost, {held} held\n");
            // Standard error may be gone.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        }
    }
}
