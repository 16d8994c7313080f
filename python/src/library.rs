//! `cenote.Library`: factors by name.

use std::path::PathBuf;
use std::sync::Arc;

use cenote_panel::{Dollars, LibraryError, Reach, Reading};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};

use crate::panel::Panel;
use crate::raise::{Class, argument, raise};

/// Factors by name: the two files that come with Cenote, or one's own.
///
/// `Library.alpha101()` has the 101 formulaic alphas of Kakushadze (2016), arXiv:1601.00991;
/// WorldQuant retains rights in the formulae. `Library.standard()` has momentum, reversal,
/// volatility and others. `panel.factors(library)` computes all that the panel allows, in one
/// pass; `library.select(names)` is a part of one.
#[pyclass(frozen, module = "cenote", weakref)]
#[derive(Clone, Debug)]
pub(crate) struct Library {
    pub(crate) library: Arc<cenote_panel::Library>,
    pub(crate) chosen: Vec<cenote_panel::Factor>,
    pub(crate) reading: Reading,
}

impl Library {
    fn new(
        py: Python<'_>,
        library: Result<cenote_panel::Library, LibraryError>,
        reading: Reading,
    ) -> PyResult<Library> {
        let library = library.map_err(|error| fault(py, error))?;
        let chosen = library.factors().to_vec();
        Ok(Library { library: Arc::new(library), chosen, reading })
    }

    fn find(&self, name: &str) -> Option<&cenote_panel::Factor> {
        self.chosen.iter().find(|factor| factor.name.eq_ignore_ascii_case(name))
    }
}

fn fault(py: Python<'_>, error: LibraryError) -> PyErr {
    let text = error.to_string();
    match error {
        // as open() would: FileNotFoundError, PermissionError, …
        LibraryError::Read { source, .. } => {
            std::io::Error::new(source.kind(), format!("{text}: {source}")).into()
        }
        LibraryError::NoFactor { .. } => raise(py, Class::ColumnNotFound, &text),
        _ => argument(py, &text),
    }
}

#[pymethods]
impl Library {
    /// The 101 formulaic alphas. 82 need prices and volume; 18 need `sector`, `industry` or
    /// `subindustry`, one needs `cap`.
    ///
    /// `literal`: `adv20` and the like are means of dollars everywhere, as printed; otherwise of
    /// shares where the formula sets them beside the volume.
    #[staticmethod]
    #[pyo3(signature = (*, literal=false))]
    fn alpha101(py: Python<'_>, literal: bool) -> PyResult<Library> {
        let reading = if literal { Reading::Literal } else { Reading::Working };
        Library::new(py, cenote_panel::Library::alpha101(), reading)
    }

    /// Factors of many kinds: momentum, reversal, volatility, beta, liquidity, indicators.
    #[staticmethod]
    fn standard(py: Python<'_>) -> PyResult<Library> {
        Library::new(py, cenote_panel::Library::standard(), Reading::Working)
    }

    /// The factors of a TOML file.
    ///
    /// Raises: ArgumentError with the line of what is wrong; OSError.
    #[staticmethod]
    #[pyo3(signature = (path, /))]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Library> {
        Library::new(py, cenote_panel::Library::read(&path), Reading::Working)
    }

    /// The factors of a TOML file's text.
    #[staticmethod]
    #[pyo3(signature = (text, /))]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Library> {
        Library::new(py, cenote_panel::Library::parse(text, "text"), Reading::Working)
    }

    /// The factors' names.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.chosen.iter().map(|factor| factor.name.clone()).collect()
    }

    /// What it is.
    #[getter]
    fn title(&self) -> &str {
        self.library.title()
    }

    /// Where it comes from, and whose it is.
    #[getter]
    fn source(&self) -> &str {
        self.library.source()
    }

    /// Some of the factors, in the order named.
    ///
    /// Raises: ColumnNotFound for a name that there is not, with the nearest one.
    #[pyo3(signature = (names, /))]
    fn select(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Library> {
        let one = |name: &String| self.__getitem__(py, name).map(|factor| factor.factor);
        let chosen = names.iter().map(one).collect::<PyResult<_>>()?;
        Ok(Library { chosen, ..self.clone() })
    }

    /// Factors that a panel does not allow: a dict of names and the fields that are missing.
    #[pyo3(signature = (panel, /))]
    fn missing<'py>(&self, panel: &Bound<'py, Panel>) -> PyResult<Bound<'py, PyDict>> {
        let py = panel.py();
        let fields: Vec<&str> =
            panel.get().shared.panel.axes().fields.iter().map(String::as_str).collect();
        let chosen: Vec<&cenote_panel::Factor> = self.chosen.iter().collect();
        let mut graph = cenote_panel::Graph::new();
        let built = self.library.build(&chosen, &fields, self.reading, &mut graph);
        let missing = PyDict::new(py);
        for left in built.map_err(|error| fault(py, error))?.left_out {
            missing.set_item(left.name, left.missing)?;
        }
        Ok(missing)
    }

    fn __len__(&self) -> usize {
        self.chosen.len()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.names())?.try_iter()
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Factor> {
        if let Some(factor) = self.find(name) {
            return Ok(Factor { library: self.library.clone(), factor: factor.clone() });
        }
        let text = match self.library.get(name) {
            Err(error) => return Err(fault(py, error)),
            Ok(_) => format!("{name:?} is not among the {} that were selected", self.chosen.len()),
        };
        Err(raise(py, Class::ColumnNotFound, &text))
    }

    fn __repr__(&self) -> String {
        format!("<cenote.Library: {}; {} factors>", self.title(), self.chosen.len())
    }
}

/// A factor of a Library: what it is, what it reads and how far back.
#[pyclass(frozen, module = "cenote")]
#[derive(Debug)]
pub(crate) struct Factor {
    library: Arc<cenote_panel::Library>,
    factor: cenote_panel::Factor,
}

#[pymethods]
impl Factor {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.factor.name
    }

    /// Its formula.
    #[getter]
    fn formula(&self) -> &str {
        &self.factor.formula
    }

    /// What it is, or "".
    #[getter]
    fn about(&self) -> &str {
        &self.factor.about
    }

    /// What is to be known of its values, or "".
    #[getter]
    fn note(&self) -> &str {
        &self.factor.note
    }

    /// What `adv20` and the like are means of: "dollars" or "shares".
    #[getter]
    fn adv(&self) -> &'static str {
        if self.factor.adv == Dollars::Yes { "dollars" } else { "shares" }
    }

    /// Rows from its own to the first trade.
    #[getter]
    fn delay(&self) -> u32 {
        self.factor.delay
    }

    /// The fields that it reads, in alphabetical order. Of a panel without `vwap` or `amount`
    /// other fields stand in for these.
    #[getter]
    fn fields(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let needs = self.library.needs(&self.factor).map_err(|error| fault(py, error))?;
        Ok(needs.fields)
    }

    /// Rows before its own that it reads; None where it is all of them.
    #[getter]
    fn lookback(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        let needs = self.library.needs(&self.factor).map_err(|error| fault(py, error))?;
        Ok(match needs.reach {
            Reach::Finite(rows) => Some(rows),
            Reach::Recursive => None,
        })
    }

    fn __repr__(&self) -> String {
        format!("<cenote.Factor: {} = {}>", self.factor.name, self.factor.formula)
    }
}
