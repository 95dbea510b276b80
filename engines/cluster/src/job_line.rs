//! A job of the list as a line of a chunk: all that its place in the list and its description say, whatever bytes they hold.

use crate::text::ByteText;
use jobs::Variables;
use jobs::spec::{ExistingOutput, More, OutputTarget, Spec};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobLine {
    job: u64,
    words: Vec<ByteText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<MoreLine>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct MoreLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<ByteText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdin: Option<ByteText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<ByteText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout: Option<(Opening, ByteText)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<(Opening, ByteText)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    env: Vec<ByteText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
    cores: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retries: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inputs: Vec<ByteText>,
    shell: bool,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Opening {
    New,
    Replace,
    Append,
}

/// Writes a job, with its line end.
pub(crate) fn write(spec: &Spec, line: &mut Vec<u8>) {
    let words = spec.words.iter().map(ByteText::from).collect();
    let job = JobLine { job: spec.number, words, more: spec.more.as_deref().map(written) };
    serde_json::to_writer(&mut *line, &job).expect("memory takes it, and every key is text");
    line.push(b'\n');
}

/// Reads a job.
pub(crate) fn read(line: &[u8]) -> Result<Spec, serde_json::Error> {
    let JobLine { job, words, more } = serde_json::from_slice(line)?;
    let mut spec = Spec { number: job, words: Variables::default(), more: more.map(|more| Box::new(read_more(more))) };
    for word in &words {
        spec.words.push(&word.0).map_err(serde::de::Error::custom)?;
    }
    spec.words.shrink();
    Ok(spec)
}

fn written(more: &More) -> MoreLine {
    let bytes = |bytes: &Option<Vec<u8>>| bytes.clone().map(ByteText);
    let all = |list: &[Vec<u8>]| list.iter().cloned().map(ByteText).collect();
    let target = |target: &Option<OutputTarget>| {
        target.as_ref().map(|OutputTarget { path, opening }| {
            let opening = match opening {
                ExistingOutput::New => Opening::New,
                ExistingOutput::Replace => Opening::Replace,
                ExistingOutput::Append => Opening::Append,
            };
            (opening, ByteText(path.clone()))
        })
    };
    MoreLine {
        cwd: bytes(&more.directory),
        stdin: bytes(&more.stdin),
        block: bytes(&more.block),
        stdout: target(&more.stdout),
        stderr: target(&more.stderr),
        env: all(&more.variables),
        id: more.id.clone(),
        after: more.after.clone(),
        cores: more.cores,
        memory: more.memory_bytes,
        timeout: more.timeout,
        retries: more.retries,
        inputs: all(&more.inputs),
        shell: more.is_for_shell,
    }
}

fn read_more(more: MoreLine) -> More {
    let bytes = |text: Option<ByteText>| text.map(|text| text.0);
    let all = |list: Vec<ByteText>| list.into_iter().map(|text| text.0).collect();
    let target = |target: Option<(Opening, ByteText)>| {
        target.map(|(opening, path)| {
            let opening = match opening {
                Opening::New => ExistingOutput::New,
                Opening::Replace => ExistingOutput::Replace,
                Opening::Append => ExistingOutput::Append,
            };
            OutputTarget { path: path.0, opening }
        })
    };
    More {
        directory: bytes(more.cwd),
        stdin: bytes(more.stdin),
        block: bytes(more.block),
        stdout: target(more.stdout),
        stderr: target(more.stderr),
        variables: all(more.env),
        id: more.id,
        after: more.after,
        cores: more.cores,
        memory_bytes: more.memory,
        timeout: more.timeout,
        retries: more.retries,
        inputs: all(more.inputs),
        is_for_shell: more.shell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spec(number: u64, words: &[Vec<u8>], more: Option<More>) -> Spec {
        let mut spec = Spec { number, more: more.map(Box::new), ..Spec::default() };
        words.iter().for_each(|word| spec.words.push(word).expect("no NUL"));
        spec.words.shrink();
        spec
    }

    #[test]
    fn everything_that_a_job_asks_for_arrives() {
        let more = More {
            directory: Some(b"/a\xff".to_vec()),
            stdin: Some(b"in".to_vec()),
            block: Some(b"a\nb\0".to_vec()),
            stdout: Some(OutputTarget { path: b"o".to_vec(), opening: ExistingOutput::New }),
            stderr: Some(OutputTarget { path: b"e".to_vec(), opening: ExistingOutput::Append }),
            variables: vec![b"A=\xfe".to_vec()],
            id: Some("x".to_owned()),
            after: vec!["y".to_owned()],
            cores: 3,
            memory_bytes: Some(u64::MAX),
            timeout: Some(Duration::from_millis(1500)),
            retries: Some(2),
            inputs: vec![b"f".to_vec()],
            is_for_shell: true,
        };
        let spec = spec(7, &[b"a b".to_vec(), b"c\nd".to_vec()], Some(more));
        let mut line = Vec::new();
        write(&spec, &mut line);
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(read(&line).expect("ours"), spec);
    }

    proptest! {
        #[test]
        fn any_words_arrive(words in proptest::collection::vec(proptest::collection::vec(1_u8.., 0..9), 0..5), number: u64) {
            let spec = spec(number, &words, None);
            let mut line = Vec::new();
            write(&spec, &mut line);
            prop_assert_eq!(read(&line).expect("ours"), spec);
        }

        #[test]
        fn noise_is_no_job_and_no_panic(noise in proptest::collection::vec(0_u8.., 0..60)) {
            let _either = read(&noise);
        }
    }
}
