//! Real prices and ticks, where `CENOTE_TEST_DATA` names the folder that holds them.

use std::path::PathBuf;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type};
use cenote_load::{Options, Source};

use crate::{load, types};

fn data(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("CENOTE_TEST_DATA").map(|folder| PathBuf::from(folder).join(name));
    let path = path.filter(|path| path.exists());
    if path.is_none() {
        println!("skipped: CENOTE_TEST_DATA names no folder with {name}");
    }
    path
}

#[test]
fn five_years_of_daily_bars() {
    let Some(path) = data("sp500_daily/individual_stocks_5yr.zip") else { return };
    let source = Source::open(&[path], &Options::default()).unwrap();
    assert_eq!(source.files().len(), 505);
    assert_eq!(source.num_rows(), Some(619_040));
    let batches: Vec<_> = source.batches().map(Result::unwrap).collect();
    assert_eq!(batches.len(), 3, "505 files are joined");
    let schema = batches[0].schema();
    let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["date", "open", "high", "low", "close", "volume", "Name"]);
    let found = types(&batches[0]);
    assert_eq!(found, ["Date32", "Float64", "Float64", "Float64", "Float64", "Int64", "Utf8"]);

    let whole = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
    assert_eq!(whole.num_rows(), 619_040);
    let nulls: Vec<_> = whole.columns().iter().map(|column| column.null_count()).collect();
    assert_eq!(nulls, [0, 11, 8, 8, 0, 0, 0]);
    let dates = whole.column(0).as_primitive::<Date32Type>();
    assert_eq!(dates.value_as_date(0).unwrap().to_string(), "2013-02-08");
    let closes = whole.column(4).as_primitive::<Float64Type>();
    assert_eq!((whole.column(6).as_string::<i32>().value(0), closes.value(0)), ("AAL", 14.75));
}

#[test]
fn quotes_without_a_header() {
    let Some(folder) = data("us_ticks") else { return };
    let paths: Vec<_> =
        ["07", "08", "09"].map(|day| folder.join(format!("bac_201310{day}_quote.zip"))).into();
    let options = Options { header: false, ..Options::default() };
    let whole = load(&paths, &options).unwrap();
    assert_eq!(whole.num_columns(), 8);
    assert_eq!(types(&whole)[..6], ["Int64", "Int64", "Int64", "Int64", "Int64", "Utf8"]);
    assert!(whole.num_rows() > 1_000_000, "{}", whole.num_rows());
}
