//! What the console's text costs: markdown, drawing transcripts of any length, taking in events.
//! Budgets in DESIGN.md: a frame of 200×60 within 2 ms, flat in the length of a transcript.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use quarterdeck::console::state::transcript::{Scroll, Transcript};
use quarterdeck::console::text::highlight::Pens;
use quarterdeck::console::text::markdown;
use quarterdeck::console::view::Cache;
use quarterdeck::console::view::theme::Theme;
use quarterdeck::console::view::transcript::draw_transcript;
use quarterdeck::protocol::event::Event;
use quarterdeck::protocol::time::Stamp;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::json;

const ANSWER: &str = "## What I found\nThe totals are **rounded twice**, see `src/stock.py`:\n\n\
    1. once for the price\n2. once for the sum\n\n| file | finds |\n|---|--:|\n| stock.py | 3 |\n\n\
    ```python\ndef total(price, n):\n    return round(price * n, 2)\n```\n\nI will mend it now.\n";

fn event(seq: u64, fact: serde_json::Value) -> Event {
    let at = "2026-11-16T03:04:53.900Z";
    serde_json::from_value(json!({"seq": seq, "at": at, "agent": "team-lead@s", "fact": fact}))
        .unwrap()
}

fn spoke(seq: u64, text: &str) -> Event {
    let message = json!({"role": "assistant", "content": text});
    event(
        seq,
        json!({"kind": "spoke", "id": "m", "model": "m", "message": message, "stop": "end_turn", "usage": {}, "context": 1}),
    )
}

/// A transcript of about so many rows.
fn transcript(rows: usize) -> Transcript {
    let mut transcript = Transcript::default();
    for seq in 0..rows / 18 {
        transcript.absorb(&spoke(seq as u64, ANSWER));
    }
    transcript
}

fn draw(
    transcript: &Transcript,
    scroll: &Scroll,
    cache: &mut Cache,
    theme: &Theme,
    buf: &mut Buffer,
) {
    cache.begin(Stamp::from_millis(0), []);
    let area = buf.area;
    black_box(draw_transcript(area, buf, transcript, scroll, cache, theme, true));
}

fn markdowns(c: &mut Criterion) {
    let theme = Theme::named("dark").unwrap();
    let pens = Pens::never();
    c.bench_function("markdown/answer of 18 rows", |b| {
        b.iter(|| markdown::lines(black_box(ANSWER), 100, &theme, &pens));
    });
    let long = ANSWER.repeat(160);
    c.bench_function(&format!("markdown/answer of {} KiB", long.len() / 1024), |b| {
        b.iter(|| markdown::lines(black_box(&long), 100, &theme, &pens));
    });
}

fn transcripts(c: &mut Criterion) {
    let theme = Theme::named("dark").unwrap();
    for rows in [1_000, 100_000] {
        let long = transcript(rows);
        let mut buf = Buffer::empty(Rect::new(0, 0, 200, 60));
        let mut cache = Cache::with_pens(Pens::at_once());
        let end = Scroll::default();
        c.bench_function(&format!("draw 200x60/{rows} rows, again"), |b| {
            b.iter(|| draw(&long, &end, &mut cache, &theme, &mut buf));
        });
        c.bench_function(&format!("draw 200x60/{rows} rows, from nothing"), |b| {
            b.iter(|| {
                let mut cache = Cache::with_pens(Pens::never());
                draw(&long, &end, &mut cache, &theme, &mut buf);
            });
        });
        let mut width = 100;
        c.bench_function(&format!("draw at a new size/{rows} rows"), |b| {
            b.iter(|| {
                width = if width == 100 { 101 } else { 100 };
                let mut buf = Buffer::empty(Rect::new(0, 0, width, 60));
                draw(&long, &end, &mut cache, &theme, &mut buf);
            });
        });
    }
    let panes: Vec<Transcript> = (0..8).map(|_| transcript(100_000)).collect();
    let mut buf = Buffer::empty(Rect::new(0, 0, 50, 30));
    let mut cache = Cache::with_pens(Pens::at_once());
    c.bench_function("draw 8 panes of 100000 rows, 50x30 each", |b| {
        b.iter(|| {
            for pane in &panes {
                draw(pane, &Scroll::default(), &mut cache, &theme, &mut buf);
            }
        });
    });
}

fn streaming(c: &mut Criterion) {
    let theme = Theme::named("dark").unwrap();
    let mut buf = Buffer::empty(Rect::new(0, 0, 100, 60));
    let delta = event(1, json!({"kind": "speaking", "text": "some words and "}));
    for kib in [2, 32] {
        let mut cache = Cache::with_pens(Pens::never());
        let mut live = Transcript::default();
        let begin = ANSWER.repeat(kib * 1024 / ANSWER.len());
        live.absorb(&event(1, json!({"kind": "speaking", "text": begin})));
        c.bench_function(&format!("a word more of an answer of {kib} KiB, drawn"), |b| {
            b.iter_batched(
                || live.clone(),
                |mut live| {
                    live.absorb(&delta);
                    draw(&live, &Scroll::default(), &mut cache, &theme, &mut buf);
                },
                criterion::BatchSize::LargeInput,
            );
        });
    }
}

fn absorbing(c: &mut Criterion) {
    let mut events = Vec::new();
    for turn in 0..1_000_u64 {
        let id = format!("t{turn}");
        let input = json!({"command": "cargo test"});
        let content = json!([{"type": "text", "text": ANSWER}, {"type": "tool_use", "id": id, "name": "Bash", "input": input}]);
        for _ in 0..4 {
            events.push(event(turn, json!({"kind": "speaking", "text": "some more words\n"})));
        }
        events.push(event(turn, json!({"kind": "spoke", "id": "m", "model": "m", "message": {"role": "assistant", "content": content}, "stop": "tool_use", "usage": {}, "context": 1})));
        events.push(event(turn, json!({"kind": "toolStarted", "useId": id, "tool": "Bash", "summary": "cargo test", "input": input})));
        events.push(event(
            turn,
            json!({"kind": "toolOutput", "useId": id, "text": "running 3 tests\n"}),
        ));
        events.push(event(turn, json!({"kind": "toolOutput", "useId": id, "text": "ok\n"})));
        events.push(event(turn, json!({"kind": "toolEnded", "useId": id, "failed": false, "summary": "ok", "millis": 5})));
        events.push(event(
            turn,
            json!({"kind": "turnEnded", "outcome": "done", "rounds": 1, "millis": 5}),
        ));
    }
    c.bench_function(&format!("absorb {} events", events.len()), |b| {
        b.iter(|| {
            let mut transcript = Transcript::default();
            events.iter().for_each(|event| transcript.absorb(event));
            transcript
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(2)).warm_up_time(std::time::Duration::from_millis(500));
    targets = markdowns, transcripts, streaming, absorbing
}
criterion_main!(benches);
