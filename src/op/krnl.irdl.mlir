// The krnl dialect: what heavy families lower to. See docs/architecture.md.
irdl.dialect @krnl {
}
