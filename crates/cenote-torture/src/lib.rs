//! What the agents and their tests share: tables that betray a wrong byte, and chance that
//! can be repeated.
//!
//! `torture-agent` is one process of a pool: its daemon, or a client that does what it is told
//! line by line. The tests (`tests/torture`) run them, kill or stop them at named steps
//! (`cenote_pool::step`), damage files, and look what is left.
//!
//! ```
//! use cenote_torture::content::{Size, batches, check};
//! let made = batches("prices", 7, Size::Small);
//! assert_eq!(check("prices", &made), Ok(7));
//! ```

pub mod chance;
pub mod content;
