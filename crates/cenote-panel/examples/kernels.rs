//! Time of single operators, one thread: nanoseconds of CPU a cell.
//!
//! `RAYON_NUM_THREADS=1 cargo run --release -p cenote-panel --example kernels [ROWS SYMBOLS]`

#![allow(clippy::print_stdout, reason = "its output")]

use rustix::time::{ClockId, clock_gettime};

use cenote_panel::{Binary, Engine, Ewm, Graph, NodeId, Op, Plan, RowOp, Window, Window2};

fn main() {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let (rows, symbols) = (args.next().unwrap_or(500usize), args.next().unwrap_or(3000usize));
    let (x, y) = (walk(rows, symbols, 1), walk(rows, symbols, 2));
    let near: Vec<f64> =
        x.iter().map(|x| f64::from_bits(1.0f64.to_bits() + x.to_bits() % 4096)).collect();
    let mut cases: Vec<(String, Graph, NodeId)> = Vec::new();
    let mut case = |name: &str, build: &dyn Fn(&mut Graph) -> NodeId| {
        let mut graph = Graph::new();
        let node = build(&mut graph);
        cases.push((name.to_owned(), graph, node));
    };
    for op in [
        Window::Sum,
        Window::Mean,
        Window::Std,
        Window::Max,
        Window::ArgMax,
        Window::Rank,
        Window::DecayLinear,
        Window::Product,
        Window::Skew,
        Window::MEDIAN,
        Window::Delay,
    ] {
        case(&format!("{op:?} 20"), &|g| {
            let x = g.field("x");
            g.add(Op::Window(op, 20), vec![x])
        });
    }
    case("Median 250", &|g| {
        let x = g.field("x");
        g.add(Op::Window(Window::MEDIAN, 250), vec![x])
    });
    for op in [Ewm::Mean, Ewm::Std] {
        case(&format!("Ewm {op:?}"), &|g| {
            let x = g.field("x");
            g.add(Op::Ewm(op, 0.1f64.to_bits()), vec![x])
        });
    }
    case("Corr 20", &|g| {
        let (x, y) = (g.field("x"), g.field("y"));
        g.add(Op::Window2(Window2::Corr, 20), vec![x, y])
    });
    case("Corr 10 of two ranks", &|g| {
        let ranks = ["x", "y"].map(|field| {
            let field = g.field(field);
            g.add(RowOp::Rank.into(), vec![field])
        });
        g.add(Op::Window2(Window2::Corr, 10), ranks.to_vec())
    });
    case("x × y", &|g| {
        let (x, y) = (g.field("x"), g.field("y"));
        g.add(Op::Binary(Binary::Mul), vec![x, y])
    });
    for op in [RowOp::Rank, RowOp::Scale(1.0f64.to_bits()), RowOp::ZScore] {
        case(&format!("{op:?}"), &|g| {
            let x = g.field("x");
            g.add(op.into(), vec![x])
        });
    }
    case("Rank of nearly equal values", &|g| {
        let near = g.field("near");
        g.add(RowOp::Rank.into(), vec![near])
    });
    for (name, graph, node) in cases {
        let plan = Plan::new(&graph, &[node]);
        let fields: Vec<&[f64]> = plan
            .graph()
            .fields()
            .iter()
            .map(|field| match field.as_str() {
                "x" => x.as_slice(),
                "y" => y.as_slice(),
                _ => near.as_slice(),
            })
            .collect();
        let mut times: Vec<f64> = (0..5)
            .map(|_| {
                let mut engine = Engine::new(plan.clone(), symbols, 0);
                let begin = cpu_s();
                let mut seen = 0;
                engine.push(&fields, rows, |_, _, out| seen += out.len());
                assert_eq!(seen, rows * symbols);
                cpu_s() - begin
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!("{name:30} {:6.2} ns a cell", times[2] * 1e9 / (rows * symbols) as f64);
    }
}

/// Seconds of CPU that this process has used.
fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Prices that walk, with 3 % of them missing.
fn walk(rows: usize, symbols: usize, mut seed: u64) -> Vec<f64> {
    let mut price = vec![100.0; symbols];
    let mut values = Vec::with_capacity(rows * symbols);
    for _ in 0..rows {
        for price in &mut price {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            *price *= 1.0 + ((seed % 20_001) as f64 / 1e6 - 0.01);
            values.push(if seed.is_multiple_of(33) { f64::NAN } else { *price });
        }
    }
    values
}
