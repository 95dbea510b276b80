//! Any bytes as every file of the kernel that the instruments read, and as a recording. None of these has a check of its own: it
//! is enough that nothing panics and that lists stay as long as the text allows.

use observe::recording::Player;
use observe::sample::HostSample;
use observe::source::accounts::Accounts;
use observe::source::{control_group, machine_stat, pressure, process_stat, process_status, run_delay};

/// Runs one input.
pub fn run(input: &[u8]) {
    if let Some((name, _)) = process_stat::parse(input) {
        assert!(name.len() < input.len());
    }
    run_delay::parse(input);
    process_status::name(input);
    process_status::user(input);
    process_status::cpus_allowed(input);
    process_status::sleeps(input);
    pressure::some_us(input);
    control_group::throttling(input);
    control_group::usage_v1_ns(input);
    control_group::usage_v2_ns(input);
    if let Some(path) = control_group::of_process(input) {
        let path = String::from_utf8_lossy(path);
        assert!(path.contains(control_group::unit(&path)));
    }
    let mut machine = machine_stat::MachineTicks::default();
    machine_stat::parse_into(input, &mut machine);
    assert!(machine.cpus.len() <= input.len() / 3);
    Accounts::parse(input).name(0);
    replay(input);
}

fn replay(input: &[u8]) {
    let Ok(mut player) = Player::open(input) else { return };
    let (mut earlier, mut later) = (HostSample::default(), HostSample::default());
    let mut interval = observe::model::Interval::default();
    while let Ok(true) = player.next(Some(&earlier), &mut later) {
        interval.update(&earlier, &later);
        observe::ceiling::findings(&interval, &earlier, &later, None);
        observe::row::of_processes(&interval.processes, &later);
        std::mem::swap(&mut earlier, &mut later);
    }
}

/// A file of each kind.
pub fn seeds() -> Vec<Vec<u8>> {
    let recording = concat!(
        "{\"manyhands_recording\":1,\"tier\":\"no-rights\",\"users\":{\"0\":\"root\"}}\n",
        "{\"at_ns\":1,\"since_boot_ns\":1,\"wall_ns\":1,\"machine\":{\"online_cpus\":2,\"tick_ns\":4000000},\"changed\":[{\"pid\":7,",
        "\"folder\":7,\"at_ns\":1,\"may_run\":0,\"cpu\":{\"total_ns\":5,\"basis\":\"clock\"}}],\"gone\":[]}\n",
        "{\"at_ns\":9,\"since_boot_ns\":9,\"wall_ns\":9,\"machine\":{\"online_cpus\":2,\"tick_ns\":4000000},\"changed\":[],\"gone\":[7]}\n",
    );
    let texts = [
        "12 (a) R (b) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 99 123 9 1 1 0 0 0 0 0 0 0 0 0 0 17 5 0 0 42\n",
        "123 456 789\n",
        "Name:\tx\nUid:\t0\t0\t0\t0\nCpus_allowed_list:\t0-3,8\nvoluntary_ctxt_switches:\t23\n",
        "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5 4 3\nprocs_running 2\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=17\n",
        "usage_usec 1\nnr_periods 2\nnr_throttled 1\nthrottled_usec 7\n",
        "3:cpu,cpuacct:/system.slice/a.service\n0::/\n",
        "root:x:0:0:root:/root:/bin/sh\n",
        recording,
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
