shardplan drill check tests/data/drill/no-drill.toml
