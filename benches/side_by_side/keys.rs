//! The keys of an unmanaged voucher, with hash tags as in a cluster or without.

/// How a server's module names the keys of a voucher.
#[derive(Clone, Copy)]
pub enum Naming {
    Plain,
    /// All keys of a voucher are in one slot.
    Tagged,
}

pub struct Keys {
    pub stock: String,
    pub buyers: String,
    pub orders: String,
}

impl Naming {
    pub fn keys(self, voucher: usize) -> Keys {
        let (name, stream) = match self {
            Self::Plain => (voucher.to_string(), "stream.orders".to_owned()),
            Self::Tagged => (format!("{{{voucher}}}"), format!("stream.orders:{{{voucher}}}")),
        };
        Keys {
            stock: format!("seckill:stock:{name}"),
            buyers: format!("seckill:order:{name}"),
            orders: stream,
        }
    }
}
