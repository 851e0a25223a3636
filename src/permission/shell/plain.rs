//! Commands that need no parser: plain words with single blanks between them, joined by `|`, `&&`,
//! `||` or `;`. Most commands are of this kind, and the parser costs more than all the rest of a
//! decision. Whatever is only a little more than that is left to the parser.

use super::{Part, Simple, Word};

/// Words that the language itself knows; the parser must see what they begin.
const OWN: [&str; 30] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "select", "function", "in", "coproc", "time", "declare", "typeset", "export", "readonly",
    "local", "unset", "unsetenv", "exec", "eval", "let", "alias", "trap", "source",
];

/// The simple commands of a text that is plain, in order.
pub(super) fn read(text: &str) -> Option<Vec<Simple>> {
    if !text.bytes().all(|byte| is_plain(byte) || matches!(byte, b' ' | b'|' | b'&' | b';')) {
        return None;
    }
    let mut commands = Vec::new();
    let mut words = Vec::new();
    for token in text.split(' ') {
        if matches!(token, "|" | "&&" | "||" | ";") {
            commands.push(command(std::mem::take(&mut words))?);
        } else if !token.is_empty() && token.bytes().all(is_plain) {
            words.push(Word::plain(token));
        } else {
            return None;
        }
    }
    commands.push(command(words)?);
    Some(commands)
}

/// A character that means nothing to a shell, wherever it stands in a word.
const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':' | b'=' | b',' | b'+' | b'@' | b'%')
}

fn command(words: Vec<Word>) -> Option<Simple> {
    let name = words.first()?.text.as_str();
    let is_name =
        name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '.' | '/'));
    let is_plain = is_name && !name.contains('=') && !OWN.contains(&name);
    is_plain.then_some(Simple { env: Vec::new(), words, part: Part::Own })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{Analysis, Setting, analyse, walk};
    use super::*;

    const WORDS: &str = "git log --oneline grep x head -5 cd src cargo a=b --a=b ./x a:b %1 \
                         @ +x - -- . .. 1 2 a,b test xargs env sudo find -exec nohup bash -c \
                         1.5 -v = ls printf true : command builtin time if done export in";

    #[test]
    fn it_is_read_as_the_parser_reads_it() {
        let words: Vec<&str> = WORDS.split(' ').collect();
        let joints = ["|", "&&", "||", ";"];
        let none = BTreeMap::new();
        let setting = Setting { user: None, aliases: &none };
        let mut state = 7_usize;
        let mut below = |end: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % end
        };
        let (mut read_here, mut clear, mut different) = (0, 0, Vec::new());
        for _ in 0..4_000 {
            let mut text = words[below(words.len())].to_owned();
            for _ in 0..below(9) {
                let joint = below(4) == 0;
                text.push(' ');
                text.push_str(if joint { joints[below(4)] } else { words[below(words.len())] });
            }
            if read(&text).is_none() {
                continue;
            }
            read_here += 1;
            let mut parsed = Analysis::default();
            walk::program(&text, setting, 0, &mut parsed);
            let found = analyse(&text, setting);
            clear += usize::from(parsed.unclear.is_none());
            if found != parsed {
                different.push(text);
            }
        }
        assert_eq!(different, [""; 0]);
        assert!(read_here > 500 && clear * 2 > read_here, "{clear} of {read_here}");
    }

    #[test]
    fn all_else_is_left_to_the_parser() {
        let others = [
            "",
            " ",
            "ls ",
            " ls",
            "ls  x",
            "ls;",
            "ls &",
            "ls & x",
            "ls | ",
            "| ls",
            "a=b ls",
            "ls > x",
            "ls 2>&1",
            "ls $x",
            "ls 'x'",
            "ls\nx",
            "ls\\ x",
            "ls ~",
            "ls *",
            "ls #x",
            "if ls",
            "time ls",
            "! ls",
            "ls && && x",
            "ls |& x",
            "ls {a,b}",
            "ls\tx",
            "ls é",
            "a&&b",
        ];
        for text in others {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
