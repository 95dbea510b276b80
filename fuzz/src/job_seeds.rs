//! Valid job lists, journals, job logs, commands and inputs to begin from: small, each with what its reader has rules for.

/// Job lists behind a byte that chooses how they are read.
pub fn lines() -> Vec<Vec<u8>> {
    let lists: &[&[u8]] = &[
        b"show a \"b c\" 'd' e\\ f \\\ng\n#no\n%%\ncd \"/d\"; cat < in > out\nboth a >>& \"o p\" b >! q\n",
        b"{\"argv\":[\"a\",\"b\"],\"id\":1,\"after\":[],\"cwd\":\"/\",\"env\":{\"X\":\"1\"},\"memory\":\"2G\"}\n\
          {\"shell\":\"a|b\",\"timeout\":1.5,\"retries\":2,\"cores\":2,\"inputs\":[\"f\"],\"after\":[\"1\"]}\n",
        b"a, b, c\0d\0\0e",
        b"one\ntwo\n\nthree \xff\r\n",
    ];
    let choices = 0..12;
    choices.flat_map(|choice| lists.iter().map(move |list| [&[choice * 2 + 1], *list].concat())).collect()
}

/// Journals and job logs.
pub fn books() -> Vec<Vec<u8>> {
    vec![
        b"{\"begin\":\"00112233445566778899aabbccddeeff\",\"job\":1}\n\
          {\"job\":1,\"key\":\"00112233445566778899aabbccddeeff\",\"argv\":[\"a\"],\"outcome\":\"ok\",\"exit\":0}\n{\"job\":"
            .to_vec(),
        b"Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n\
          1\t:\t1795271749.255\t     0.250\t2\t6\t0\t0\techo $'a\\n\\x01' 'b'\"'\"'c' \"d\\\"\" e\\ f\n2\t:\t17952"
            .to_vec(),
    ]
}

/// Commands and the values behind them, a word a line.
pub fn templates() -> Vec<Vec<u8>> {
    let texts: &[&[u8]] =
        &[b"gzip\n-c\n{}\n{.}.gz\na b/c.d\ne\n/\n..", b"{1}-{2/}-{-1//}\n{#}{%}{/.}{0}{-0}{\n@{}\n'$(x)\n\"`y`\n\xff"];
    texts.iter().map(|text| text.to_vec()).collect()
}

/// Inputs for blocks behind the three bytes that choose how they are cut.
pub fn blocks() -> Vec<Vec<u8>> {
    let text = b"h\n>one\nab\n>two\n{a}\n{b}\nlonger than a block of a few bytes\nab";
    (0..16_u8).map(|choice| [&[choice * 16 + choice, 3 + choice, choice][..], text].concat()).collect()
}
