//! Frames over Arrow's C data interface.
#![allow(unsafe_code, reason = "a consumer of that interface handles pointers")]

use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, ListArray, RecordBatch, StringArray, StringViewArray,
    StructArray, make_array,
};
use cenote::{IfExists, Pool, Selection};

/// What a consumer of the C data interface does: takes over arrays, and lets go in any order.
#[test]
fn exported_arrays_are_what_batches_are_and_let_go_one_by_one() {
    let pool = Pool::embedded(Some(64 << 20)).unwrap();
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..90_000).map(|i| (i % 3 != 0).then(|| vec![Some(i), None])),
    );
    let flags: BooleanArray = (0..90_000).map(|i| (i % 5 != 0).then_some(i % 2 == 0)).collect();
    let close: Float64Array = (0..90_000).map(|i| Some(f64::from(i) / 3.0)).collect();
    let names: StringArray =
        (0..90_000).map(|i| (i % 7 != 0).then(|| format!("row {i}"))).collect();
    let nothing = StringViewArray::from_iter((0..90_000).map(|i| (i % 2 == 0).then_some("a view")));
    let columns: [(&str, ArrayRef); 5] = [
        ("list", Arc::new(list)),
        ("flag", Arc::new(flags)),
        ("view", Arc::new(nothing)),
        ("close", Arc::new(close)),
        ("name", Arc::new(names)),
    ];
    let input = RecordBatch::try_from_iter(columns).unwrap();
    pool.put("t", &[input.clone(), input.slice(7, 1000)], IfExists::Fail).unwrap();

    let selections = [None, Some((0, 90_000)), Some((13, 90_500)), Some((90_001, 90_002))];
    for rows in selections {
        let frame = pool.get_selected("t", &Selection { rows, ..Selection::default() }).unwrap();
        let schema = FFI_ArrowSchema::try_from(frame.schema().as_ref()).unwrap();
        let expected = frame.batches().unwrap();
        let exported = frame.export().unwrap();
        assert_eq!(exported.len(), expected.len());
        for (array, batch) in exported.into_iter().zip(&expected) {
            // SAFETY: the pool's own export.
            let data = unsafe { from_ffi(array, &schema) }.unwrap();
            data.validate_full().unwrap();
            assert_eq!(StructArray::from(data), StructArray::from(batch.clone()));
        }
    }

    let frame = pool.get("t").unwrap();
    let schema = FFI_ArrowSchema::try_from(frame.schema().as_ref()).unwrap();
    let expected = frame.batches().unwrap().swap_remove(0);
    let mut exported = frame.export().unwrap();
    drop(frame);
    pool.drop_frame("t").unwrap();
    let whole = exported.swap_remove(0);
    drop(exported);
    let moved = [3, 0, 4].map(|i| {
        let child = std::ptr::from_ref(whole.child(i)).cast_mut();
        // SAFETY: as the interface has it, a child may be moved out, which marks it.
        (i, unsafe { FFI_ArrowArray::from_raw(child) })
    });
    drop(whole);
    for (i, child) in moved {
        // SAFETY: the pool's own export.
        let data = unsafe { from_ffi(child, schema.child(i)) }.unwrap();
        assert_eq!(&make_array(data), expected.column(i));
        assert!(pool.info().unwrap().retired_held > 0);
    }
    drop(expected);
    let begin = std::time::Instant::now();
    while pool.info().unwrap().retired_held > 0 && begin.elapsed().as_secs() < 3 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let info = pool.info().unwrap();
    assert_eq!((info.leaked, info.retired_held), (0, 0), "{info:?}");
}
