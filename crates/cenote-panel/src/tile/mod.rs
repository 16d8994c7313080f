//! What is computed symbol by symbol: a *tile* is a block of rows of some symbols, small
//! enough to stay in a core's cache while a whole chain of operators passes over it.

pub(crate) mod element;
pub(crate) mod ewm;
pub(crate) mod history;
pub(crate) mod window;
