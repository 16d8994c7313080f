//! Long tables into panels, and factors of them.

use super::*;
use crate::Names;
use arrow_array::{Date32Array, Int64Array, StringArray};

fn long(rows: &[(i32, &str, f64, i64)]) -> RecordBatch {
    RecordBatch::try_from_iter([
        ("day", Arc::new(Date32Array::from_iter_values(rows.iter().map(|r| r.0))) as ArrayRef),
        ("name", Arc::new(StringArray::from_iter_values(rows.iter().map(|r| r.1)))),
        ("close", Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| r.2)))),
        ("volume", Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.3)))),
    ])
    .unwrap()
}

fn pivot() -> Pivot {
    Pivot { time: "day".to_owned(), symbol: "name".to_owned(), fields: None }
}

#[test]
fn rows_in_any_order_become_a_panel() {
    let one = long(&[(3, "b", 1.0, 10), (1, "a", 2.0, 20)]);
    let two = long(&[(1, "b", 3.0, 30), (2, "a", 4.0, 40)]);
    let panel = pivot().run(&[one, two]).unwrap();
    assert_eq!(panel.axes().symbols, ["a", "b"]);
    assert_eq!(panel.axes().fields, ["close", "volume"]);
    assert_eq!((panel.num_times(), panel.num_symbols()), (3, 2));
    let close = panel.field("close").unwrap();
    assert_eq!([close[0], close[1], close[2], close[5]], [2.0, 3.0, 4.0, 1.0]);
    assert!(close[3].is_nan() && close[4].is_nan());
    assert_eq!(
        panel.times().unwrap().as_primitive::<arrow_array::types::Date32Type>().values(),
        &[1, 2, 3]
    );

    let again = Panel::from_batches(&panel.axes().schema(), panel.batches().unwrap()).unwrap();
    assert_eq!(again.axes(), panel.axes());
    assert!(matches!(again.field("volume").unwrap(), Cow::Borrowed(_)), "read in place");
}

#[test]
fn faults_name_their_rows() {
    let text = |batch: RecordBatch| pivot().run(&[batch]).unwrap_err().to_string();
    let twice = long(&[(1, "a", 1.0, 1), (2, "a", 1.0, 1), (1, "a", 1.0, 1)]);
    assert_eq!(text(twice), "rows 0 and 2 are both of \"a\" at 1970-01-02");
    let large = long(&[(1, "a", 1.0, 1), (2, "a", 1.0, (1 << 53) + 1)]);
    assert!(text(large).contains("row 1 of \"volume\" is 9007199254740993"));
    let no = Pivot { time: "date".to_owned(), ..pivot() };
    let error = no.run(&[long(&[])]).unwrap_err().to_string();
    assert_eq!(error, "no column \"date\"; there are day, name, close, volume");
    let wrong = Pivot { time: "close".to_owned(), ..pivot() };
    assert!(wrong.run(&[long(&[])]).unwrap_err().to_string().contains("a date or a timestamp"));
    let schema = long(&[]).schema();
    assert!(Panel::from_batches(&schema, []).unwrap_err().to_string().contains("no panel"));
}

#[test]
fn a_symbol_that_comes_later_is_missing_before() {
    let early = pivot().run(&[long(&[(1, "a", 1.0, 1), (2, "a", 2.0, 1)])]).unwrap();
    let axes = Axes { symbols: vec!["a".to_owned(), "b".to_owned()], ..early.axes().clone() };
    let late = pivot().run(&[long(&[(3, "a", 3.0, 1), (3, "b", 9.0, 1)])]).unwrap();
    let batches = early.batches().unwrap().into_iter().chain(late.batches().unwrap());
    let panel = Panel::from_batches(&axes.schema(), batches).unwrap();
    let close = panel.field("close").unwrap();
    assert_eq!([close[0], close[2], close[4], close[5]], [1.0, 2.0, 3.0, 9.0]);
    assert!(close[1].is_nan() && close[3].is_nan());
    let names = Names::new(["close", "volume"]);
    let sums = panel.compute([("s", "sum(close, 2)")], &names).unwrap().collect_panel().unwrap();
    let sums = sums.field("s").unwrap();
    assert_eq!([sums[2], sums[4]], [3.0, 5.0]);
    assert!(sums[5].is_nan());
}

#[test]
fn factors_are_a_panel_whatever_the_batches() {
    let rows: Vec<(i32, String, f64, i64)> = (0..300)
        .flat_map(|day| (0..7).map(move |s| (day, format!("s{s}"), f64::from(day * 7 + s), 1)))
        .collect();
    let rows: Vec<(i32, &str, f64, i64)> =
        rows.iter().map(|(d, s, c, v)| (*d, s.as_str(), *c, *v)).collect();
    let panel = pivot().run(&[long(&rows)]).unwrap();
    let names = Names::new(["close", "volume"]);
    let factors = [("r", "rank(close)"), ("m", "mean(close, 3)")];
    let whole = panel.compute(factors, &names).unwrap().collect_panel().unwrap();
    assert_eq!(whole.axes().fields, ["r", "m"]);
    assert_eq!(whole.field("r").unwrap()[6], 1.0);
    assert_eq!(whole.field("m").unwrap()[2 * 7], 7.0);
    let split: Vec<RecordBatch> = panel
        .batches()
        .unwrap()
        .iter()
        .flat_map(|batch| (0..300).step_by(11).map(|at| batch.slice(at, 11.min(300 - at))))
        .collect();
    let split = Panel::from_batches(&panel.axes().schema(), split).unwrap();
    let split = split.compute(factors, &names).unwrap().collect_panel().unwrap();
    for field in ["r", "m"] {
        let (a, b) = (whole.field(field).unwrap(), split.field(field).unwrap());
        assert!(a.iter().zip(b.iter()).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
    let twice = [("r", "close"), ("r", "volume")];
    assert!(panel.compute(twice, &names).unwrap_err().to_string().contains("two factors"));
    let error = panel.compute([("x", "rank(clsoe)")], &names).unwrap_err().to_string();
    assert!(error.contains("factor \"x\": no field \"clsoe\"; did you mean close?"), "{error}");
}

fn matrix(days: &[i32], columns: &[(&str, &[Option<f64>])]) -> RecordBatch {
    let day = Arc::new(Date32Array::from_iter_values(days.iter().copied())) as ArrayRef;
    let column = |values: &[Option<f64>]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
    let columns = columns.iter().map(|(name, values)| (*name, column(values)));
    RecordBatch::try_from_iter([("day", day)].into_iter().chain(columns)).unwrap()
}

fn wide(fields: &[(&str, &RecordBatch)]) -> Result<Panel, PanelError> {
    let of = |(name, batch): &(&str, &RecordBatch)| {
        let halves = [batch.slice(0, 1), batch.slice(1, batch.num_rows() - 1)];
        ((*name).to_owned(), batch.schema().as_ref().clone(), halves.to_vec())
    };
    Wide::default().run(fields.iter().map(of))
}

#[test]
fn wide_tables_become_a_panel() {
    let close = matrix(&[1, 4], &[("B", &[Some(1.0), Some(2.0)]), ("A", &[None, Some(4.0)])]);
    let volume = matrix(&[1, 4], &[("A", &[Some(7.0), None]), ("C", &[Some(8.0), Some(9.0)])]);
    let panel = wide(&[("close", &close), ("volume", &volume)]).unwrap();
    assert_eq!(panel.axes().symbols, ["B", "A", "C"]);
    assert_eq!((panel.axes().time.as_str(), panel.num_times()), ("day", 2));
    let bits = |field: &str| -> Vec<Option<u64>> {
        let values = panel.field(field).unwrap();
        values.iter().map(|x| (!x.is_nan()).then(|| x.to_bits())).collect()
    };
    let expected = |values: [f64; 6]| values.map(|x| (x > 0.0).then(|| x.to_bits())).to_vec();
    assert_eq!(bits("close"), expected([1.0, -1.0, -1.0, 2.0, 4.0, -1.0]));
    assert_eq!(bits("volume"), expected([-1.0, 7.0, 8.0, -1.0, -1.0, 9.0]));
}

#[test]
fn wide_tables_that_do_not_fit_say_where() {
    let close = matrix(&[1, 4], &[("A", &[Some(1.0), Some(2.0)])]);
    let says = |fields: &[(&str, &RecordBatch)], words: &str| {
        let error = wide(fields).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    let later = matrix(&[1, 5], &[("A", &[Some(1.0), Some(2.0)])]);
    says(&[("close", &close), ("volume", &later)], "row 1 of \"volume\" is of another time");
    let longer = matrix(&[1, 4, 5], &[("A", &[None, None, None])]);
    says(&[("close", &close), ("volume", &longer)], "row 2 of \"volume\"");
    let falls = matrix(&[4, 1], &[("A", &[Some(1.0), Some(2.0)])]);
    says(&[("close", &falls)], "the time of row 1 is not after");
    let two = RecordBatch::try_from_iter([
        ("day", close.column(0).clone()),
        ("other", close.column(0).clone()),
    ]);
    says(&[("close", &two.unwrap())], "2 columns are dates or timestamps (day, other)");
    let text = RecordBatch::try_from_iter([
        ("day", close.column(0).clone()),
        ("A", Arc::new(StringArray::from_iter_values(["x", "y"])) as ArrayRef),
    ]);
    says(&[("close", &text.unwrap())], "column \"A\" is Utf8; a field must be numbers");
}

#[test]
fn a_column_says_what_it_is_of() {
    let panel = wide(&[("close", &matrix(&[1, 4], &[("A", &[Some(1.0), Some(2.0)])]))]).unwrap();
    let stand_ins = Names::new(["close"]).stand_ins("vwap / amount");
    assert_eq!(stand_ins.len(), 2);
    let column = Described { name: "close", formula: "vwap / amount", stand_ins: &stand_ins };
    let schema = describe(&panel.axes().schema(), &[column]);
    let field = schema.field_with_name("close").unwrap();
    assert_eq!(field.metadata()["cenote.formula"], "vwap / amount");
    assert_eq!(stood_in(field), stand_ins);
    assert!(stood_in(schema.field(0)).is_empty());
    assert_eq!(Axes::of(&schema).unwrap(), *panel.axes(), "still the schema of the panel");
}

#[test]
fn labels_that_are_named_are_groups() {
    let with = |labels: [Option<&str>; 2], days: [i32; 2]| {
        let batch = long(&[(days[0], "a", 1.0, 1), (days[1], "b", 5.0, 1)]);
        let labels = Arc::new(StringArray::from(labels.to_vec())) as ArrayRef;
        let columns = batch.schema().fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>();
        let columns = columns.into_iter().zip(batch.columns().iter().cloned());
        RecordBatch::try_from_iter(columns.chain([("sector".to_owned(), labels)])).unwrap()
    };
    let batches = [with([Some("Tech"), Some("Oil")], [1, 1]), with([Some("Oil"), None], [2, 2])];
    let named = |fields: &[&str]| {
        let fields = Some(fields.iter().map(|f| (*f).to_owned()).collect());
        Pivot { fields, ..pivot() }.run(&batches).unwrap()
    };
    let panel = named(&["close", "sector"]);
    let sector = panel.field("sector").unwrap();
    assert_eq!(sector[..3], [0.0, 1.0, 1.0], "Tech, Oil, Oil");
    assert!(sector[3].is_nan());
    let names = Names::new(["close", "sector"]);
    let formula = [("n", "indneutralize(close, sector)")];
    let found = panel.compute(formula, &names).unwrap().collect_panel().unwrap();
    assert_eq!(found.field("n").unwrap()[..3], [0.0, 0.0, 0.0], "alone in their groups");
    assert_eq!(
        pivot().run(&batches).unwrap().axes().fields,
        ["close", "volume"],
        "not unless named"
    );
}
