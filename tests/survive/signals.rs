//! A signal at any moment: no half file under its name, and running it again completes what was begun.

use super::python;
use crate::place::Place;

/// Interrupts each command a few dozen times, later each time until it is over before that. Files hold their own length and number in each line, so that half of
/// one is seen.
const INTERRUPTED: &str = r#"
import os, random, shutil, signal, subprocess, time
mh = os.environ['mh']; random.seed(8)
def content(i): return (b'%07d of a file\n' % i) * (1 + i * 37 % 9000)
os.mkdir('src')
for i in range(400):
    os.makedirs('src/%d' % (i // 40), exist_ok=True); open('src/%d/%d' % (i // 40, i), 'wb').write(content(i))
open('src/large', 'wb').write(os.urandom(1 << 20) * 24)
large = open('src/large', 'rb').read()
for a, option in (('a.tar', []), ('a.tar.zst', ['--zstd'])): subprocess.run([mh, 'tar', *option, '-cf', a, 'src'], check=True)
def halves(top):
    found = []
    for at, _, names in os.walk(top):
        for name in names:
            got = open(os.path.join(at, name), 'rb').read()
            if got != (large if name == 'large' else content(int(name))): found.append(os.path.join(at, name))
    return found
def whole_archive(): return open('b.tar', 'rb').read() == open('a.tar', 'rb').read()
def signals(): signal.signal(signal.SIGINT, signal.SIG_DFL); signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
def run(command, stop_after):
    child = subprocess.Popen(command, preexec_fn=signals, stderr=subprocess.PIPE)
    if stop_after is not None:
        time.sleep(stop_after); child.send_signal(signal.SIGINT)
    said = child.communicate(timeout=60)[1]
    assert b'panicked' not in said, said
    return child.returncode
ended = 0
for hands in ('1', '2', '64'):
    commands = (('x', [mh, 'cp', '-a', '-j', hands, 'src', 'x'], [mh, 'cp', '-aT', '-j', hands, 'src', 'x']),
        ('x', [mh, 'tar', '-xf', 'a.tar', '--hands', hands, '--one-top-level=x', '--strip-components=1'], None),
        ('x', [mh, 'tar', '-xf', 'a.tar.zst', '--hands', hands, '--one-top-level=x', '--strip-components=1'], None),
        ('b.tar', [mh, 'tar', '-cf', 'b.tar', '--hands', hands, 'src'], None))
    for target, command, again in commands:
        begin = time.monotonic(); assert run(command, None) == 0; whole = time.monotonic() - begin
        for _ in range(8):
            if os.path.isdir(target): shutil.rmtree(target)
            elif os.path.exists(target): os.unlink(target)
            code = run(command, random.uniform(0, whole))
            assert code in (0, -signal.SIGINT), code
            ended += code != 0
            if target == 'x': assert not halves('x'), (command, halves('x'))
            # The signal may come between the last rename and the end: then the archive is there, and whole.
            else: assert whole_archive() if os.path.exists(target) else code != 0, 'an archive that is not whole'
            assert not [n for n in os.listdir('.') if n not in ('src', 'x', 'a.tar', 'a.tar.zst', 'b.tar')], os.listdir('.')
        assert run(again if again and os.path.exists('x') else command, None) == 0
        if target == 'x': assert subprocess.run(['diff', '-r', 'src', 'x']).returncode == 0
        else: assert whole_archive()
        if os.path.isdir('x'): shutil.rmtree('x')
print(ended)
"#;

#[test]
fn an_interrupt_at_any_moment_leaves_no_half_file_and_the_next_run_completes() {
    let place = Place::new();
    let Some(ended) = python(&place, INTERRUPTED) else { return };
    let ended: u32 = ended.trim().parse().expect("a number");
    assert!(ended >= 10, "only {ended} of 96 runs were interrupted");
}

/// A copy into a pipe that nobody reads waits: an interrupt ends it.
const WAITING: &str = r#"
import os, signal, subprocess, time
mh = os.environ['mh']
os.mkfifo('pipe'); open('file', 'w').write('x')
def signals(): signal.signal(signal.SIGINT, signal.SIG_DFL); signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
child = subprocess.Popen([mh, 'cp', 'file', 'pipe'], preexec_fn=signals)
time.sleep(0.3); child.send_signal(signal.SIGINT)
try: code = child.wait(timeout=60)
finally: child.kill()
assert code == -signal.SIGINT, code
"#;

#[test]
fn a_copy_that_waits_for_a_reader_can_be_interrupted() {
    python(&Place::new(), WAITING);
}
