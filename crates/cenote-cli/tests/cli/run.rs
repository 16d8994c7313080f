//! `cenote run`: the factors of a file, into the pool.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{DEADLINE, Scratch, send, text, wait};

const SYMBOLS: [&str; 12] = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L"];

/// A number from 0 to 1 that is the same for the same arguments.
fn noise(day: u32, symbol: usize) -> f64 {
    let x = (f64::from(day) * 12.9898 + symbol as f64 * 78.233).sin() * 43758.5453;
    x - x.floor()
}

fn date(day: u32) -> String {
    format!("{}-{:02}-{:02}", 2000 + day / (28 * 12), 1 + day / 28 % 12, 1 + day % 28)
}

/// Bars of all symbols, a row for each date and symbol.
fn bars(days: u32) -> String {
    let mut csv = "date,symbol,open,high,low,close,volume\n".to_owned();
    for (at, symbol) in SYMBOLS.iter().enumerate() {
        let mut close = 50.0 + at as f64;
        for day in 0..days {
            let open = close;
            close *= 1.0 + (noise(day, at) - 0.5) / 20.0;
            let (high, low) = (open.max(close) * 1.01, open.min(close) * 0.99);
            let volume = 1000.0 + (noise(day + 7, at) * 1000.0).round();
            csv += &format!("{},{symbol},{open},{high},{low},{close},{volume}\n", date(day));
        }
    }
    csv
}

/// Closes, a column a symbol.
fn closes(days: u32) -> String {
    let mut csv = format!("date,{}\n", SYMBOLS.join(","));
    for day in 0..days {
        let values = (0..SYMBOLS.len()).map(|at| (50.0 + noise(day, at)).to_string());
        csv += &format!("{},{}\n", date(day), values.collect::<Vec<_>>().join(","));
    }
    csv
}

#[test]
fn the_example_runs_as_printed() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "256MiB"]);
    let example = scratch.ok(&["run", "--example"]);
    let file = scratch.write("jobs/factors.toml", &example);
    scratch.write("jobs/prices/bars.csv", bars(320));
    let said = scratch.ok(&["run", text(&file)]);
    assert!(said.contains("mean IC") && said.contains("momentum_12_1"), "{said}");
    assert!(said.contains("factors v1: 5 factors x 320 times x 12 symbols"), "{said}");
    assert!(said.contains("factors.ic v1"), "{said}");
    let found = scratch.json(&["get", "factors"]);
    let schema = found["schema"].to_string();
    assert!(schema.contains("quiet") && schema.contains("crowd"), "{schema}");
    assert_eq!(found["num_rows"], 320);
    let ic = scratch.json(&["get", "factors.ic", "--head", "99"]);
    assert_eq!(ic["num_rows"], 15, "five factors at three horizons");
    // Again: a new version, as the file says. Of which data is in the log.
    scratch.ok(&["run", text(&file)]);
    let log = scratch.json(&["log", "factors"]).to_string();
    assert!(log.contains("prices/bars.csv") && log.contains("quiet = -1 * stddev"), "{log}");
    assert!(log.contains("\"version\":2"), "{log}");
}

#[test]
fn a_library_over_a_frame_says_what_is_left_out_and_what_stands_in() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "512MiB"]);
    let bars = scratch.write("bars.csv", bars(290));
    scratch.ok(&["put", text(&bars), "--name", "bars"]);
    let job = "library = \"alpha101\"\n[panel]\nframe = \"bars\"\ntime = \"date\"\nsymbol = \"symbol\"\n\
               [results]\nname = \"alphas\"\n[ic]\nhorizons = [1, 5]\nleast = 5\n";
    let file = scratch.write("alphas.toml", job);
    let said = scratch.run(&["run", text(&file)]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("82 factors x 290 times"), "{said:?}");
    let line = said.out.lines().find(|line| line.starts_with("alpha005")).unwrap();
    assert!(line.contains("vwap"), "the figure says what it rests on: {line}");
    for words in [
        "vwap is not in the panel: (high + low + close) / 3 stands in for it in",
        "left out for want of cap: alpha056",
        "left out for want of subindustry: alpha048",
    ] {
        assert!(said.err.contains(words), "{said:?}");
    }
    // The panel that was put is a panel again, and what it is of is known.
    let job =
        "[panel]\nframe = \"alphas\"\n[factors]\na = \"rank(alpha001)\"\n[results]\nname = \"a\"\n";
    let file = scratch.write("again.toml", job);
    let json = scratch.json(&["run", text(&file)]);
    assert_eq!((&json["num_symbols"], &json["factors"][0]["factor"]), (&12.into(), &"a".into()));
    let log = scratch.json(&["log", "a"]).to_string();
    assert!(log.contains("\"name\":\"alphas\",\"version\":1"), "{log}");
    // What exists is not replaced unless the file says so, and that is said at once.
    scratch.fails(&["run", text(&file)], 1, &["\"a\"", "exists"]);
}

#[test]
fn wide_files_are_a_panel() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "256MiB"]);
    scratch.write("close.csv", closes(60));
    let job = "[panel]\nwide = { close = \"close.csv\" }\n[factors]\nm = \"rank(mean(close, 5))\"\n\
               [results]\nname = \"m\"\n[ic]\nleast = 5\n";
    let file = scratch.write("m.toml", job);
    let json = scratch.json(&["run", text(&file)]);
    assert_eq!((&json["num_times"], &json["num_symbols"]), (&60.into(), &12.into()));
    let ic = &json["factors"][0]["ic"][0];
    assert_eq!((&ic["horizon"], &ic["dates"]), (&1.into(), &54.into()));
    assert!(ic["mean"].as_f64().unwrap().abs() < 1.0);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("bars.csv", bars(30));
    let panel = "[panel]\nfiles = \"bars.csv\"\ntime = \"date\"\nsymbol = \"symbol\"\n";
    let results = "[results]\nname = \"x\"\n";
    let whole = |rest: &str| format!("{panel}{results}{rest}");
    let cases = [
        (
            whole("[factors]\na = \"close\"\n[ic]\nhorizon = [1]\n"),
            "job.toml:10: no key \"horizon\" in [ic]",
        ),
        (
            whole("[factors]\na = \"close\"\n[ic]\nhorizons = [0]\n"),
            "job.toml:10: horizons must be rows",
        ),
        (whole("[factor]\na = \"close\"\n"), "job.toml:7: no key \"factor\""),
        (format!("library = \"alpha11\"\n{}", whole("")), "job.toml:1: no library \"alpha11\""),
        (whole(""), "nothing to compute"),
        (format!("{results}[factors]\na = \"close\"\n"), "lacks [panel]"),
        (whole("[factors]\na = close\n"), "job.toml:8: "),
        (
            format!("library = \"alpha101\"\nonly = [\"alpha007\", \"alpha200\"]\n{}", whole("")),
            "no factor \"alpha200\"",
        ),
        (
            format!("{}[factors]\na = \"close\"\n", whole("").replace("date\"", "day\"")),
            "no column \"day\"; there are date, symbol, open",
        ),
        (
            whole("[factors]\na = \"close\"\n[ic]\nprice = \"vwap\"\n"),
            "no field \"vwap\"; there are open, high",
        ),
    ];
    for (job, words) in cases {
        let file = scratch.write("job.toml", &job);
        scratch.fails(&["run", text(&file)], 1, &[words]);
    }
    // Of a formula the character, and a mark under it.
    let file = scratch.write("job.toml", whole("[factors]\na = \"rank(clsoe)\"\n"));
    let said = scratch.run(&["run", text(&file)]);
    let lines: Vec<&str> = said.err.lines().collect();
    assert_eq!(said.code, Some(1), "{said:?}");
    let first = "job.toml:8: a, character 6: no field \"clsoe\"; did you mean close?";
    assert!(lines[0].ends_with(first), "{said:?}");
    assert_eq!(lines[1..], ["  rank(clsoe)", "       ^"]);
    scratch.fails(&["run", "none.toml"], 1, &["none.toml"]);
    assert!(scratch.json(&["ls"]).as_array().unwrap().is_empty(), "nothing was put");
}

#[test]
fn ctrl_c_leaves_nothing() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "2GiB"]);
    scratch.write("close.csv", closes(30_000));
    let factors: String =
        (2..40).map(|n| format!("f{n} = \"rank(median(close, {n}))\"\n")).collect();
    let job = format!(
        "[panel]\nwide = {{ close = \"close.csv\" }}\n[results]\nname = \"f\"\n[ic]\n[factors]\n{factors}"
    );
    let file = scratch.write("f.toml", job);
    let before = scratch.settled();
    for (signal, code) in
        [(Signal::INT, Some(130)), (Signal::TERM, Some(143)), (Signal::KILL, None)]
    {
        let mut run = scratch.command(&["run", text(&file)]).spawn().unwrap();
        let began = Instant::now();
        while scratch.json(&["info"])["open"].as_u64().unwrap() == 0 {
            assert!(run.try_wait().unwrap().is_none(), "it ended before it was interrupted");
            assert!(began.elapsed() < DEADLINE);
            std::thread::sleep(Duration::from_millis(5));
        }
        send(&run, signal);
        assert_eq!(wait(&mut run), code);
        let output = run.wait_with_output().unwrap();
        if code.is_some() {
            let err = String::from_utf8(output.stderr).unwrap();
            assert_eq!(err, "error: interrupted: nothing was put\n");
        }
        assert_eq!(scratch.settled(), before);
    }
}
