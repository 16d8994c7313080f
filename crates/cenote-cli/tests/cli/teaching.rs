//! The command teaches itself: completions and manual pages.

use std::process::{Command, Stdio};

use crate::support::{Scratch, prices, text};

#[test]
fn a_shell_completes_commands_and_frames() {
    let scratch = Scratch::new();
    let _daemon = scratch.serve(&["--capacity", "64MiB"]);
    scratch.write("p.csv", prices("AAA", 10));
    for name in ["prices", "prices_daily", "returns"] {
        scratch.ok(&["put", "p.csv", "--name", name]);
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(scratch.ok(&["completions", shell]).contains("cenote"), "{shell}");
    }
    assert_eq!(scratch.run(&["completions", "tcsh"]).code, Some(2));
    // As bash does it: the script is sourced, its function called with the words so far.
    let command = env!("CARGO_BIN_EXE_cenote");
    let path = std::path::Path::new(command).parent().unwrap();
    let complete = |words: &str| {
        let script = format!(
            "PATH={}:$PATH; source <(cenote completions bash); COMP_WORDS=({words}); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_LINE='{words}'; COMP_TYPE=9; \
             _clap_complete_cenote cenote \"${{COMP_WORDS[$COMP_CWORD]}}\" ''; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            path.display()
        );
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).env("CENOTE_ADDRESS", scratch.pool()).stdin(Stdio::null());
        let output = bash.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        (said, String::from_utf8(output.stderr).unwrap())
    };
    let (said, error) = complete("cenote get pri");
    assert_eq!(
        said.lines().map(str::trim).collect::<Vec<_>>(),
        ["prices", "prices_daily"],
        "{error}"
    );
    for command in ["export", "log", "diff", "tag", "keep", "rm", "mv"] {
        let (said, error) = complete(&format!("cenote {command} ret"));
        assert_eq!(said.trim(), "returns", "{command}: {error}");
    }
    let (said, error) = complete("cenote doc");
    assert_eq!(said.trim(), "doctor", "{error}");
    let (said, error) = complete("cenote put --rep");
    assert_eq!(said.trim(), "--replace", "{error}");
}

#[test]
fn a_page_for_each_command() {
    let scratch = Scratch::new();
    let directory = scratch.path("man/man1");
    let said = scratch.ok(&["man", text(&directory)]);
    let pages = std::fs::read_dir(&directory).unwrap().count();
    assert!(said.starts_with(&format!("{pages} pages in ")), "{said}");
    let help = scratch.ok(&["--help"]);
    let commands = help.split("Commands:").nth(1).unwrap();
    let commands: Vec<&str> = commands
        .lines()
        .take_while(|line| !line.starts_with("Options"))
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .filter(|name| name.starts_with(char::is_alphabetic) && *name != "help")
        .collect();
    assert!(commands.len() >= 12, "{commands:?}");
    for name in commands {
        let page = std::fs::read_to_string(directory.join(format!("cenote-{name}.1")));
        let page = page.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"), "{name}: {page}");
    }
    let put = std::fs::read_to_string(directory.join("cenote-put.1")).unwrap();
    assert!(put.contains("\\-\\-replace"), "{put}");
    scratch.write("file", "");
    scratch.fails(&["man", "file/man1"], 1, &["file/man1"]);
}
