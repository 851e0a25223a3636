//! Read: a file shown to the model, as numbered lines or as an image.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use base64::Engine;
use futures::future::BoxFuture;
use rustix::fs::Stat;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::file_words::{
    LONGEST_LINE, allowed, check_path, in_thread, missing, not_allowed, not_text, path_in,
    push_line,
};
use super::guarded::{LARGEST, Spot, Trouble, read_whole};
use super::seen::ReadCache;
use super::text_file::{self, Encoding, HEAD, NotText, Text};
use super::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, parse};
use crate::model::Stop;
use crate::permission::Access;
use crate::protocol::content::{Block, ImageSource, Known};

/// As many lines as are shown if nobody says how many.
const USUAL_LINES: usize = 2_000;
/// The largest text that is shown if nobody says which part of it, in bytes.
const LARGEST_AT_ONCE: u64 = 256 * 1024;
/// The longest answer, in bytes: about 25,000 tokens.
const LONGEST_ANSWER: usize = 100_000;
/// The largest image, in bytes: models take 5 MB of base64, which is a third longer.
const LARGEST_IMAGE: usize = 3_750_000;

const DESCRIPTION: &str = "\
Reads a file and shows it with a line number and a tab before each line, as `cat -n` does.

- Shows up to 2,000 lines and about 100,000 characters; what is left out is said at the end. Lines \
are cut at 2,000 characters.
- A text over 256 KiB must be read in parts with offset and limit; a part of a text of any size can \
be read so. To find a place in a large file, use Grep first.
- Shows images (PNG, JPEG, GIF, WebP). Refuses other binary files, directories (use Glob, or `ls`) \
and PDFs (use pdftotext in the shell). Notebooks are shown as the JSON they are.
- A file must have been read before Edit or Write may change it.
- Several files can be read at once; do so when they may all be of use.";

/// What the model gives.
#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    /// The file to read: an absolute path, or one relative to the working directory.
    file_path: String,
    /// The line to begin with, counted from 1.
    offset: Option<usize>,
    /// How many lines to show.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

pub struct ReadTool {
    spec: Spec,
}

impl ReadTool {
    pub fn new() -> Self {
        Self { spec: Spec::of::<Input>("Read", DESCRIPTION, Needs::Reads, true) }
    }
}

impl Default for ReadTool {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for ReadTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, cx: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        let input: Input = parse("Read", input)?;
        check_path(&input.file_path)?;
        if input.limit == Some(0) {
            return Err(Bad("limit must be at least 1.".to_owned()));
        }
        Ok(vec![Access::Read(cx.resolve(&input.file_path))])
    }

    fn summary(&self, input: &Value) -> String {
        let path = path_in(input);
        match (input["offset"].as_u64(), input["limit"].as_u64()) {
            (None, None) => path,
            (Some(from), None) => format!("{path}:{from}-"),
            (from, Some(limit)) => {
                let from = from.unwrap_or(1).max(1);
                format!("{path}:{from}-{}", from.saturating_add(limit).saturating_sub(1))
            }
        }
    }

    fn run<'a>(
        &'a self,
        cx: &'a ToolContext,
        call: &'a Call,
        input: Value,
    ) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let input: Input = match parse("Read", &input) {
                Ok(input) => input,
                Err(bad) => return Output::failed(bad.0),
            };
            let Some(path) = allowed(&call.access) else { return not_allowed() };
            let shown = cx.shown(&path);
            let (seen, stop) = (cx.seen.clone(), call.stop.clone());
            let job = Job { path, shown, input, seen, stop };
            tokio::select! {
                output = in_thread(move || job.run()) => output,
                () = call.stop.cancelled() => Output::failed("Interrupted."),
            }
        })
    }
}

struct Job {
    path: PathBuf,
    shown: String,
    input: Input,
    seen: ReadCache,
    stop: Stop,
}

impl Job {
    fn run(&self) -> Output {
        self.read().unwrap_or_else(|trouble| Output::failed(format!("{}: {trouble}.", self.shown)))
    }

    fn read(&self) -> Result<Output, Trouble> {
        let spot = match Spot::reach(&self.path) {
            Err(Trouble::Missing) => return Ok(missing(&self.shown, None)),
            spot => spot?,
        };
        let (file, stat) = match spot.open() {
            Err(Trouble::Missing) => return Ok(missing(&self.shown, Some(&spot))),
            opened => opened?,
        };
        if size_of(&stat) > LARGEST {
            return self.part_of_huge(file, &stat);
        }
        let bytes = read_whole(file, &stat)?;
        let output = match text_file::decode(&bytes) {
            Ok(text) => self.text(&text, bytes.len()),
            Err(NotText::Image(kind)) => self.image(kind, &bytes),
            Err(other) => not_text(&self.shown, other),
        };
        if !output.failed {
            self.seen.record(&self.path, &bytes);
        }
        Ok(output)
    }

    fn image(&self, kind: &str, bytes: &[u8]) -> Output {
        let size = bytes.len();
        if size > LARGEST_IMAGE {
            return Output::failed(format!(
                "{}: the image has {size} bytes, and models take at most {LARGEST_IMAGE}; make it \
                 smaller first.",
                self.shown
            ));
        }
        let data = base64::engine::general_purpose::STANDARD.encode(bytes);
        let source = ImageSource::Base64 { media_type: kind.to_owned(), data };
        let block = Block::Known(Known::Image { source });
        Output::blocks(vec![block], format!("{} ({kind}, {size} bytes)", self.shown))
            .with_data(json!({ "path": self.path, "kind": kind, "bytes": size }))
    }

    fn text(&self, text: &Text, size: usize) -> Output {
        if text.text.is_empty() {
            return Output::text(format!("{}: the file is empty.", self.shown));
        }
        if let Some(refusal) = self.too_much(u64::try_from(size).unwrap_or(u64::MAX)) {
            return refusal;
        }
        let mut page = self.page();
        for line in text.text.lines().skip(page.first - 1) {
            if !page.take(&text_file::shown(line, text.encoding)) {
                break;
            }
        }
        let total = text.text.lines().count();
        let mut output = self.answer(&page, Some(total), encoding_note(text.encoding));
        if !output.failed && self.path.extension().is_some_and(|ending| ending == "ipynb") {
            output =
                with_note(output, "This is a notebook: change it so that it stays valid JSON.");
        }
        output
    }

    /// What is not asked for in parts is not shown, if it is too much for one answer.
    fn too_much(&self, size: u64) -> Option<Output> {
        let whole = self.input.offset.is_none() && self.input.limit.is_none();
        (whole && size > LARGEST_AT_ONCE).then(|| {
            Output::failed(format!(
                "{}: {size} bytes are too much to show at once (at most {LARGEST_AT_ONCE}). Read a \
                 part with offset and limit, or find the place with Grep.",
                self.shown
            ))
        })
    }

    fn page(&self) -> Page {
        let limit = self.input.limit.unwrap_or(USUAL_LINES);
        Page { lines: String::new(), first: self.input.offset.unwrap_or(1).max(1), count: 0, limit }
    }

    fn answer(&self, page: &Page, total: Option<usize>, note: Option<&str>) -> Output {
        let Page { lines, first, count, .. } = page;
        let last = first + count - usize::from(*count > 0);
        if *count == 0 {
            let has = total.map_or(String::new(), |total| format!("; the file has {total} lines"));
            return Output::failed(format!("{}: offset {first} is past the end{has}.", self.shown));
        }
        let more = match total {
            Some(total) if last >= total && *first == 1 => None,
            Some(total) if last >= total => Some(format!("Lines {first} to {last}, the end.")),
            Some(total) => {
                let next = last + 1;
                Some(format!("Lines {first} to {last} of {total}. Continue with offset {next}."))
            }
            None => Some(format!("Lines {first} to {last} of a large file.")),
        };
        let mut output = Output::text(lines.as_str());
        for note in [more.as_deref(), note].into_iter().flatten() {
            output = with_note(output, note);
        }
        let data = json!({ "path": self.path, "first": first, "lines": count, "total": total });
        output.with_summary(format!("{}: {count} lines", self.shown)).with_data(data)
    }

    /// Lines out of a file that is too large to be held. It does not count as seen: it is too
    /// large to be edited, too.
    fn part_of_huge(&self, mut file: File, stat: &Stat) -> Result<Output, Trouble> {
        let failed = |source| Trouble::Io { what: "read it", source };
        let mut head = Vec::new();
        let read = (&file).take(u64::try_from(HEAD).unwrap_or(0)).read_to_end(&mut head);
        read.and_then(|_| file.seek(SeekFrom::Start(0))).map_err(failed)?;
        if let Some(NotText::Pdf) = text_file::image_or_pdf(&head) {
            return Ok(not_text(&self.shown, NotText::Pdf));
        }
        if text_file::image_or_pdf(&head).is_some() || text_file::is_utf16(&head) {
            return Err(Trouble::TooLarge { size: size_of(stat) });
        }
        if let Some(refusal) = self.too_much(size_of(stat)) {
            return Ok(refusal);
        }
        let mut page = self.page();
        let from = BufReader::with_capacity(1 << 17, file);
        let mut lines = Lines { from, stop: &self.stop, within: false };
        for _ in 1..page.first {
            if !lines.skip().map_err(failed)? {
                break;
            }
        }
        while page.has_room()
            && let Some(line) = lines.next().map_err(failed)?
        {
            if memchr::memchr(0, &line).is_some() {
                let at = page.first + page.count;
                let why = format!("{}: it is binary (a NUL in line {at}).", self.shown);
                return Ok(Output::failed(why));
            }
            if !page.take(&String::from_utf8_lossy(&line)) {
                break;
            }
        }
        Ok(self.answer(&page, None, None))
    }
}

fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

fn encoding_note(encoding: Encoding) -> Option<&'static str> {
    match encoding {
        Encoding::Utf8 | Encoding::Utf8Marked => None,
        Encoding::Utf16Le | Encoding::Utf16Be => {
            Some("The file is UTF-16; Edit and Write keep it so.")
        }
        Encoding::Bytes => Some(
            "Not all of it is UTF-8: other bytes are shown as U+FFFD. Edit keeps them; Write would \
             lose them.",
        ),
    }
}

/// Adds a remark behind the lines; it has no line number, so it cannot be taken for one.
fn with_note(output: Output, note: &str) -> Output {
    let text = output.content.text();
    let (summary, data) = (output.summary, output.data);
    Output::text(format!("{text}[{note}]\n")).with_summary(summary).with_data(data)
}

/// The lines of one answer.
struct Page {
    lines: String,
    first: usize,
    count: usize,
    limit: usize,
}

impl Page {
    fn has_room(&self) -> bool {
        self.count < self.limit
    }

    /// Adds a line; `false` if there is no room for it.
    fn take(&mut self, line: &str) -> bool {
        if !self.has_room() {
            return false;
        }
        let before = self.lines.len();
        push_line(&mut self.lines, self.first + self.count, line);
        if self.lines.len() > LONGEST_ANSWER && self.count > 0 {
            self.lines.truncate(before);
            return false;
        }
        self.count += 1;
        true
    }
}

/// The lines of a file, of which only the beginning is held, however long they are.
struct Lines<'a> {
    from: BufReader<File>,
    stop: &'a Stop,
    /// The rest of a long line is still to be gone past; whoever wants no more lines need not.
    within: bool,
}

impl Lines<'_> {
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.within {
            self.skip()?;
        }
        // A character has at most four bytes, and one more than is shown tells that there is more.
        let most = 4 * (LONGEST_LINE + 1);
        let mut line = Vec::new();
        while line.len() < most {
            let buffer = self.from.fill_buf()?;
            if buffer.is_empty() {
                return Ok(Some(line).filter(|line| !line.is_empty()));
            }
            let part = &buffer[..buffer.len().min(most - line.len())];
            if let Some(end) = memchr::memchr(b'\n', part) {
                line.extend_from_slice(&part[..end]);
                self.from.consume(end + 1);
                line.pop_if(|last| *last == b'\r');
                return Ok(Some(line));
            }
            line.extend_from_slice(part);
            let taken = part.len();
            self.from.consume(taken);
        }
        self.within = true;
        Ok(Some(line))
    }

    /// Goes past the end of a line; `false` if there is none.
    fn skip(&mut self) -> io::Result<bool> {
        self.within = false;
        let mut there = false;
        while !self.stop.is_cancelled() {
            let buffer = self.from.fill_buf()?;
            if buffer.is_empty() {
                return Ok(there);
            }
            there = true;
            match memchr::memchr(b'\n', buffer) {
                Some(end) => {
                    self.from.consume(end + 1);
                    return Ok(true);
                }
                None => {
                    let all = buffer.len();
                    self.from.consume(all);
                }
            }
        }
        Err(io::Error::other("interrupted"))
    }
}
