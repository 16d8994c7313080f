//! The files that come with Cenote, and files with faults.

use super::*;

const PRICES: [&str; 5] = ["open", "high", "low", "close", "volume"];

fn all(library: &Library) -> Vec<&Factor> {
    library.factors().iter().collect()
}

#[test]
fn all_101_alphas_are_read_and_the_missing_fields_named() {
    let library = Library::alpha101().unwrap();
    let names: Vec<&str> = library.factors().iter().map(|f| f.name.as_str()).collect();
    let expected: Vec<String> = (1..=101).map(|n| format!("alpha{n:03}")).collect();
    assert_eq!(names, expected);
    let mut graph = Graph::new();
    let built = library.build(&all(&library), &PRICES, Reading::Working, &mut graph).unwrap();
    assert_eq!(built.factors.len(), 82);
    let groups = [48, 58, 59, 63, 67, 69, 70, 76, 79, 80, 82, 87, 89, 90, 91, 93, 97, 100];
    for left in &built.left_out {
        let number: u32 = left.name["alpha".len()..].parse().unwrap();
        if number == 56 {
            assert_eq!(left.missing, ["cap"]);
        } else {
            assert!(groups.contains(&number), "{}", left.name);
            let levels = ["sector", "industry", "subindustry"];
            assert!(left.missing.iter().all(|m| levels.contains(&m.as_str())), "{left:?}");
        }
    }
    assert_eq!(built.left_out.len(), 19);
    assert_eq!(built.left_out.iter().find(|l| l.name == "alpha067").unwrap().missing.len(), 2);
    let everything = ["open", "high", "low", "close", "volume", "vwap", "cap", "sector"];
    let everything: Vec<&str> = everything.into_iter().chain(["industry", "subindustry"]).collect();
    let built = library.build(&all(&library), &everything, Reading::Working, &mut graph).unwrap();
    assert_eq!((built.factors.len(), built.left_out.len()), (101, 0));
}

#[test]
fn what_a_factor_needs_is_read_off_its_formula() {
    let library = Library::alpha101().unwrap();
    let of = |name: &str| library.needs(library.get(name).unwrap()).unwrap();
    let two = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
    assert_eq!(of("alpha003"), Needs { fields: two("open", "volume"), reach: Reach::Finite(9) });
    assert_eq!(of("alpha013"), Needs { fields: two("close", "volume"), reach: Reach::Finite(4) });
    assert_eq!(of("alpha101").reach, Reach::Finite(0));
    // 250 rows of returns, each with the row before.
    assert_eq!(of("alpha019").reach, Reach::Finite(250));
    assert_eq!(of("alpha058").fields, ["sector", "volume", "vwap"]);
    let longest = library.factors().iter().map(|f| match library.needs(f).unwrap().reach {
        Reach::Finite(rows) => rows,
        Reach::Recursive => panic!("{} reads all history", f.name),
    });
    assert_eq!(longest.max(), Some(251), "alpha048: 250 rows of a change of a delayed change");
}

#[test]
fn adv_is_in_shares_where_it_stands_beside_the_volume() {
    let library = Library::alpha101().unwrap();
    let shares: Vec<&str> = library
        .factors()
        .iter()
        .filter(|factor| factor.adv == Dollars::No)
        .map(|factor| &factor.name[5..])
        .collect();
    assert_eq!(shares, ["007", "017", "021", "039", "043", "047", "100"]);
    let late = library.factors().iter().filter(|factor| factor.delay == 0);
    assert_eq!(late.map(|f| &f.name[5..]).collect::<Vec<_>>(), ["042", "048", "053", "054"]);
    let chosen = library.select(&["alpha007"]).unwrap();
    let reads = |reading: Reading| {
        let mut graph = Graph::new();
        let built = library.build(&chosen, &PRICES, reading, &mut graph).unwrap();
        let (graph, _) = graph.prune(&[built.factors[0].1]);
        graph.nodes().len()
    };
    assert!(reads(Reading::Literal) > reads(Reading::Working), "close × volume is one node more");
}

#[test]
fn the_standard_factors_need_prices_alone() {
    let library = Library::standard().unwrap();
    let mut graph = Graph::new();
    let built = library.build(&all(&library), &PRICES, Reading::Working, &mut graph).unwrap();
    assert!(built.factors.len() >= 12 && built.left_out.is_empty());
    assert!(library.factors().iter().all(|factor| !factor.about.is_empty()));
}

#[test]
fn a_users_file() {
    let text = "adv = 'shares'\n[definitions]\nmid = '(high + low) / 2'\n[factors]\n\
                zeta = 'mid / close'\nalpha = { formula = 'adv5', adv = 'dollars', delay = 0 }\n\
                beta = \"\"\"rank(\n  adv5)\"\"\"\n";
    let library = Library::parse(text, "mine.toml").unwrap();
    let names: Vec<&str> = library.factors().iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["zeta", "alpha", "beta"], "the file's order");
    let [zeta, alpha, beta] = library.factors() else { panic!() };
    assert_eq!((zeta.line, alpha.line, beta.line), (5, 6, 7));
    assert_eq!((alpha.adv, beta.adv), (Dollars::Yes, Dollars::No));
    assert_eq!((alpha.delay, beta.delay), (0, 1));
    let mut graph = Graph::new();
    assert!(library.build(&all(&library), &PRICES, Reading::Working, &mut graph).is_ok());
}

#[test]
fn faults_of_a_file_name_file_line_and_what_to_write() {
    let cases = [
        ("[factors]\n\na = 'rank(clsoe)'", "f.toml:3: a: no field \"clsoe\"; did you mean close?"),
        (
            "[factors]\na = 'rank(close'",
            "a: \",\" or \")\" belongs here, not the end\n  rank(close\n            ^",
        ),
        ("[factors]\na = 1", "f.toml:2: a must be a formula in quotes"),
        ("[factors]\na = { about = 'x' }", "f.toml:2: a must be a table with a formula"),
        (
            "[factors]\na = { formula = 'close', adb = 'shares' }",
            "\"adb\" is known here; did you mean adv?",
        ),
        (
            "[factors]\na = { formula = 'close', delay = -1 }",
            "delay must be a number of rows, 0 or more",
        ),
        (
            "adv = 'euros'\n[factors]\na = 'close'",
            "f.toml:1: adv must be \"dollars\" or \"shares\"",
        ),
        (
            "[factor]\na = 'close'",
            "f.toml:1: no key \"factor\" is known here; did you mean factors?",
        ),
        ("[factors]\na = 'close'\na = 'open'", "f.toml:3: "),
        ("title = 'x'", "f.toml has no factors"),
        ("[definitions]\nm = 'close +'\n[factors]\na = 'm * 2'", "in the definition of \"m\""),
    ];
    for (text, expected) in cases {
        let library = Library::parse(text, "f.toml");
        let built =
            library.and_then(|l| l.build(&all(&l), &PRICES, Reading::Working, &mut Graph::new()));
        let message = built.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let library = Library::alpha101().unwrap();
    let message = library.get("alpha1O1").unwrap_err().to_string();
    assert!(message.contains("did you mean alpha101?"), "{message}");
}

#[test]
fn what_stands_in_for_a_field_is_told() {
    let library = Library::alpha101().unwrap();
    let told = |name: &str, panel: &[&str]| -> Vec<&str> {
        let factor = library.get(name).unwrap();
        let of = library.stand_ins(factor, panel, Reading::Working);
        of.into_iter().map(|(name, _)| name).collect()
    };
    let panel = ["open", "high", "low", "close", "volume"];
    assert_eq!(told("alpha005", &panel), ["vwap"]);
    assert_eq!(told("alpha025", &panel), ["vwap", "amount"]);
    assert_eq!(told("alpha101", &panel), [""; 0]);
    assert_eq!(told("alpha005", &[&panel[..], &["vwap"]].concat()), [""; 0]);
    let own = Names::new(panel).define("vwap", "close");
    assert!(own.stand_ins("rank(vwap)").is_empty(), "the user's own definition");
    assert_eq!(Names::new(panel).stand_ins("vwap - close")[0].1, "(high + low + close) / 3");
}

#[test]
fn factors_may_be_a_part_of_a_file() {
    let text = "pool = \"x\"\n[factors]\na = \"rank(close)\"\n[panel]\nframe = \"p\"\n";
    let library = Library::parse_part(text, "run.toml", &["pool", "panel"]).unwrap();
    assert_eq!((library.factors().len(), library.factors()[0].line), (1, 3));
    assert!(Library::parse_part("pool = 1\n", "run.toml", &["pool"]).unwrap().factors().is_empty());
    let error = Library::parse_part(text, "run.toml", &["pool", "panels"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "run.toml:4: no key \"panel\" is known here; did you mean panels?"
    );
}
