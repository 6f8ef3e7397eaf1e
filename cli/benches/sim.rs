//! The scenarios of `picklock bench sim`, measured by criterion: for comparing two builds.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use picklock::scenario::SCENARIOS;

fn scenarios(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sim");
    for scenario in SCENARIOS {
        let mut prepared = scenario.prepare(None);
        let mut seed = 1;
        group.throughput(Throughput::Elements(prepared.run(seed).events));
        group.bench_function(scenario.name, |bencher| {
            bencher.iter(|| {
                seed += 1;
                prepared.run(seed)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, scenarios);
criterion_main!(benches);
