# A page has no JSON form.
shardplan formulas --markdown --json
