//! The scenarios of `picklock bench sim`, measured by criterion: for comparing two builds.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use picklock::scenario::SCENARIOS;
use stores::redis::script::Runner;

fn scenarios(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sim");
    for scenario in SCENARIOS {
        for (runner, suffix) in [(Runner::Lua, ""), (Runner::Native, "-native")] {
            if runner == Runner::Native && !scenario.has_scripts() {
                continue;
            }
            let mut prepared = scenario.prepare(None, runner);
            let mut seed = 1;
            group.throughput(Throughput::Elements(prepared.run(seed).events));
            group.bench_function(format!("{}{suffix}", scenario.name), |bencher| {
                bencher.iter(|| {
                    seed += 1;
                    prepared.run(seed)
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, scenarios);
criterion_main!(benches);
