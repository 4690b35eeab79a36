//! Figures of a real card that the simulated one must come near to.

use super::*;

#[test]
fn print() {
    for level in [TraceLevel::Faults, TraceLevel::Full] {
        for mib in [256, 1024] {
            let mut b = Bench::new(MemoryKind::Managed, Bytes::mib(mib), level);
            let init = b.sweep(Proc::Cpu, Access::Write);
            println!("{level} {mib} init {} {:?}", init.host(), b.since());
            let cold = b.sweep(GPU, Access::ReadWrite);
            println!("{level} {mib} cold {} {:?}", cold.host(), b.since());
            let warm = b.sweep(GPU, Access::ReadWrite);
            println!("{level} {mib} warm {} {:?}", warm.host(), b.since());
            let n = mib * 256;
            let back = b.touch(Proc::Cpu, Access::Read, Pattern::Strided { stride_bytes: 4096 }, n);
            println!("{level} {mib} back {} {:?}", back.host(), b.since());
            if mib == 256 {
                let random = b.touch(GPU, Access::ReadWrite, Pattern::Random { seed: 3 }, 16384);
                println!("{level} {mib} random {} {:?}", random.host(), b.since());
            }
        }
    }
}
