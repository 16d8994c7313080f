//! The Python face of Cenote: `cenote._cenote`, whose classes `cenote` makes public.
//!
//! Thin on purpose: what a pool does is in the crate `cenote`, what is typed in Python is in
//! the package beside this crate. Here Python's objects become Arrow arrays and back, and
//! nothing else. Three rules hold throughout:
//!
//! - Every call that may wait passes [`door::call`], which lets go of Python's lock, has
//!   Ctrl-C noticed and turns errors into exceptions.
//! - No lock of this crate is held while Python runs, nor Python's lock while the pool is
//!   asked: either could wait for the other for ever, in a thread or over a fork.
//! - Arrow crosses by capsules of the C data interface only. PyArrow, pandas, Polars and
//!   NumPy are imported when they are needed, and their absence is no error until then.
#![deny(unsafe_code)]

mod capsule;
mod columns;
mod connect;
mod door;
mod factors;
mod feed;
mod frame;
mod ic;
mod import;
mod library;
mod live;
mod load;
mod matrix;
mod notes;
mod panel;
mod part;
mod pool;
mod put;
mod pyarrow;
mod raise;
mod report;
mod schema;
mod selection;
mod values;
mod versions;
mod window;
mod writer;

use pyo3::prelude::*;

/// Native classes of Cenote.
#[pymodule(gil_used = false)]
mod _cenote {
    #[pymodule_export]
    use crate::connect::{connect_pool, open_embedded, parse_size};
    #[pymodule_export]
    use crate::factors::Factors;
    #[pymodule_export]
    use crate::frame::{
        Frame, column_type, column_with, one_column, open_reference, reference_directory,
    };
    #[pymodule_export]
    use crate::ic::IC;
    #[pymodule_export]
    use crate::library::{Factor, Library};
    #[pymodule_export]
    use crate::live::Live;
    #[pymodule_export]
    use crate::matrix::DataFrame;
    #[pymodule_export]
    use crate::panel::Panel;
    #[pymodule_export]
    use crate::part::Partition;
    #[pymodule_export]
    use crate::pool::Pool;
    #[pymodule_export]
    use crate::schema::Schema;
    #[pymodule_export]
    use crate::values::{Values, column_values};
    #[pymodule_export]
    use crate::window::{Ewm, Rolling};
    #[pymodule_export]
    use crate::writer::Writer;

    use super::{Bound, PyAnyMethods, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        cenote::on_wait(crate::door::signals);
        // Nothing is logged unless the user says so.
        if let Err(error) = cenote::log_to_stderr(None) {
            let warn = module.py().import("warnings")?.getattr("warn")?;
            warn.call1((error.to_string(),))?;
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
