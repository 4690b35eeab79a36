//! Which number a GPU has here. The driver numbers processors in the order in which it met them, which need not be the
//! order in which this session knows its GPUs.

use super::abi::MAX_PROCESSORS;
use crate::event::Proc;

/// From the driver's processor index to [`Proc`]. The GPUs that the session names come first, in its order; the others
/// follow in the driver's.
#[derive(Clone, Debug)]
pub struct Numbers {
    named: Vec<String>,
    gpus: [u16; MAX_PROCESSORS as usize],
}

impl Default for Numbers {
    /// As the driver numbers them: its index 1 is GPU 0.
    fn default() -> Self {
        Self { named: Vec::new(), gpus: std::array::from_fn(|index| (index as u16).saturating_sub(1)) }
    }
}

impl Numbers {
    /// Puts the session's GPUs first, by UUID. Takes effect with the next table that is learnt.
    pub fn name(&mut self, uuids: Vec<String>) {
        self.named = uuids;
    }

    /// The session's GPUs.
    pub fn named(&self) -> &[String] {
        &self.named
    }

    /// Takes in the driver's table of UUIDs, from its index 1 on. Without named GPUs nothing changes.
    pub fn learn(&mut self, table: &[Option<String>]) {
        if self.named.is_empty() {
            return;
        }
        let mut next = self.named.len() as u16;
        for (index, gpu) in self.gpus.iter_mut().enumerate().skip(1) {
            let uuid = table.get(index - 1).and_then(Option::as_ref);
            let named = uuid.and_then(|uuid| self.named.iter().position(|named| named == uuid));
            *gpu = match named {
                Some(at) => at as u16,
                None => {
                    next += 1;
                    next - 1
                }
            };
        }
    }

    /// The processor of the driver's index; `None` if it can have none such.
    pub fn processor(&self, index: u8) -> Option<Proc> {
        let gpu = self.gpus.get(usize::from(index))?;
        Some(if index == 0 { Proc::Cpu } else { Proc::Gpu(*gpu) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uuid(name: &str) -> Option<String> {
        Some(format!("GPU-{name}"))
    }

    #[test]
    fn named_gpus_come_first_whatever_the_driver_calls_them() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.processor(1), Some(Proc::Gpu(0)));
        numbers.learn(&[uuid("a"), uuid("b")]);
        assert_eq!(numbers.processor(2), Some(Proc::Gpu(1)), "nothing is named");
        numbers.name(vec!["GPU-c".to_owned(), "GPU-a".to_owned()]);
        numbers.learn(&[uuid("a"), uuid("b"), uuid("c"), None]);
        let all: Vec<Option<Proc>> = (0..5).map(|index| numbers.processor(index)).collect();
        let gpu = |n| Some(Proc::Gpu(n));
        assert_eq!(all, [Some(Proc::Cpu), gpu(1), gpu(2), gpu(0), gpu(3)]);
        assert_eq!(numbers.processor(MAX_PROCESSORS), None);
    }
}
