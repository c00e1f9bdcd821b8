"""Name resolution in languages other than Python, with one small project each."""

from pathlib import Path

import pytest
from tests.support.sources import at, indexed, names, places, write

PROJECT = r"""
=== c/list.c
#include "list.h"

/* How many there are. */
int list_size(struct list *l) {
    int n = 0;
    while (l && n < LIST_MAX) {
        n += l->size;
        l = l->next;
    }
    return n;
}
=== c/list.h
#ifndef LIST_H
#define LIST_H
#define LIST_MAX 10
struct list {
    int size;
    struct list *next;
};
int list_size(struct list *l);
#endif
=== c/main.c
#include "list.h"
int main(void) {
    struct list l = {0};
    return list_size(&l);
}
=== c/shape.cpp
#include "shape.hpp"
namespace geo {
Circle::Circle(double r) : r_(r) {}
double Circle::area() const { return 3.14 * r_ * r_; }
}
int use() {
    geo::Circle c(2.0);
    return (int)c.area();
}
=== c/shape.hpp
#pragma once
namespace geo {
class Shape {
public:
    virtual double area() const = 0;
};
class Circle : public Shape {
public:
    Circle(double r);
    double area() const override;
private:
    double r_;
};
}
=== go/go.mod
module acme.dev/shop
=== go/cmd/main.go
package main

import (
	"fmt"
	"acme.dev/shop/util"
)

func main() {
	m := util.New(3)
	n := m.Add(*m)
	fmt.Println(util.Double(n), n.Cents)
}
=== go/util/money.go
package util

// Money is an amount.
type Money struct {
	Cents int
}

// Add adds.
func (m *Money) Add(other Money) Money {
	return Money{Cents: m.Cents + other.Cents}
}

func New(cents int) *Money { return &Money{Cents: cents} }
=== go/util/more.go
package util

func Double(m Money) Money {
	return m.Add(m)
}
=== java/com/acme/shop/Base.java
package com.acme.shop;
public abstract class Base {
    protected void log(int value) {}
}
interface Priced { int price(); }
=== java/com/acme/shop/Cart.java
package com.acme.shop;

import com.acme.shop.Item;

/** A cart. */
public class Cart extends Base implements Priced {
    private Item last;

    public void add(Item item) {
        this.last = item;
        log(item.price());
    }

    public int price() {
        return last.price();
    }
}
=== java/com/acme/shop/Item.java
package com.acme.shop;
public class Item {
    int price() { return 1; }
}
=== rs/src/main.rs
mod shapes;
use crate::shapes::{Area, Square};

fn main() {
    let square = Square::new(2.0);
    println!("{}", square.area());
}
=== rs/src/shapes.rs
/// Has an area.
pub trait Area {
    fn area(&self) -> f64;
}

pub struct Square {
    side: f64,
}

impl Square {
    pub fn new(side: f64) -> Square {
        Square { side }
    }
}

impl Area for Square {
    fn area(&self) -> f64 {
        self.side * self.side
    }
}
=== sh/lib.sh
# Says hello.
greet() {
  local who=$1
  echo "hello $who"
}
=== sh/main.sh
source ./lib.sh
NAME=world
greet "$NAME"
=== ts/app.tsx
import { Large, format } from ".";
import Store from "./store";
export function App() {
  const cart = new Large(new Store());
  cart.add(null);
  return <Row text={format(cart.cost())} />;
}
function Row(props: { text: string }) {
  return <b>{props.text}</b>;
}
=== ts/cart.ts
import { Price, format as show } from "./price";
import Store from "./store";
import * as tax from "./tax";

export interface Sellable {
  cost(): Price;
}

/** Holds what is bought. */
export class Cart implements Sellable {
  private rows: Price[] = [];
  constructor(private store: Store) {}

  add(price: Price): void {
    this.rows.push(price);
    this.store.save(price);
  }

  cost(): Price {
    const total = new Price(0);
    for (const row of this.rows) {
      total.plus(row);
    }
    return tax.withTax(total);
  }
}

export class BigCart extends Cart {
  add(price: Price): void {
    super.add(price);
    console.log(show(price), this.cost());
  }
}

export const makeCart = (store: Store): Cart => new Cart(store);
=== ts/index.ts
export { Cart, BigCart as Large } from "./cart";
export * from "./price";
=== ts/price.ts
export class Price {
  constructor(public amount: number) {}
  plus(other: Price): Price {
    return new Price(this.amount + other.amount);
  }
}
export function format(price: Price): string {
  return String(price.amount);
}
=== ts/store.ts
import type { Price } from "./price";
export default class Store {
  save(price: Price) {}
}
=== ts/tax.ts
import { Price } from "./price";
const RATE = 0.2;
export function withTax(price: Price) {
  return price.plus(new Price(price.amount * RATE));
}
"""
MEANS = [
    ("ts/cart.ts", "new |Price(0)", "ts/price.ts:1"),
    ("ts/cart.ts", "total.|plus", "ts/price.ts:3"),
    ("ts/cart.ts", "|show(price)", "ts/price.ts:7"),
    ("ts/cart.ts", "tax.|withTax", "ts/tax.ts:3"),
    ("ts/cart.ts", "this.store.|save", "ts/store.ts:3"),
    ("ts/cart.ts", "super.|add", "ts/cart.ts:14"),
    ("ts/cart.ts", "this.|cost", "ts/cart.ts:19"),
    ("ts/cart.ts", "this.|rows.push", "ts/cart.ts:11"),
    ("ts/cart.ts", "implements |Sellable", "ts/cart.ts:5"),
    ("ts/app.tsx", "cart.|add", "ts/cart.ts:29"),
    ("ts/app.tsx", "{|format", "ts/price.ts:7"),
    ("ts/app.tsx", "<|Row", "ts/app.tsx:8"),
    ("ts/app.tsx", "new |Store", "ts/store.ts:2"),
    ("ts/app.tsx", "cart.|cost", "ts/cart.ts:19"),
    ("ts/price.ts", "this.|amount", "ts/price.ts:2"),
    ("ts/app.tsx", "props.|text", "ts/app.tsx:8"),
    ("go/cmd/main.go", "util.|New", "go/util/money.go:13"),
    ("go/cmd/main.go", "m.|Add", "go/util/money.go:9"),
    ("go/cmd/main.go", "n.|Cents", "go/util/money.go:5"),
    ("go/cmd/main.go", "util.|Double", "go/util/more.go:3"),
    ("go/util/more.go", "m.|Add", "go/util/money.go:9"),
    ("go/util/more.go", "m |Money", "go/util/money.go:4"),
    ("go/util/money.go", "Money{|Cents", "go/util/money.go:5"),
    ("go/cmd/main.go", "fmt.|Println", ""),
    ("rs/src/main.rs", "|Square::new", "rs/src/shapes.rs:6"),
    ("rs/src/main.rs", "Square::|new", "rs/src/shapes.rs:11"),
    ("rs/src/main.rs", "square.|area", "rs/src/shapes.rs:17"),
    ("rs/src/shapes.rs", "self.|side", "rs/src/shapes.rs:7"),
    ("rs/src/shapes.rs", "|Area for", "rs/src/shapes.rs:2"),
    ("c/main.c", "|list_size", "c/list.c:4"),
    ("c/list.c", "l->|size", "c/list.h:5"),
    ("c/list.c", "|LIST_MAX", "c/list.h:3"),
    ("c/main.c", "struct |list", "c/list.h:4"),
    ("c/list.c", "|n += ", "c/list.c:5"),
    ("c/shape.cpp", "c.|area", "c/shape.cpp:4"),
    ("c/shape.cpp", "geo::|Circle c", "c/shape.hpp:7"),
    ("c/shape.cpp", "3.14 * |r_", "c/shape.hpp:12"),
    ("java/com/acme/shop/Cart.java", "|log(", "java/com/acme/shop/Base.java:3"),
    ("java/com/acme/shop/Cart.java", "item.|price", "java/com/acme/shop/Item.java:3"),
    ("java/com/acme/shop/Cart.java", "last.|price", "java/com/acme/shop/Item.java:3"),
    ("java/com/acme/shop/Cart.java", "extends |Base", "java/com/acme/shop/Base.java:2"),
    ("java/com/acme/shop/Cart.java", "implements |Priced", "java/com/acme/shop/Base.java:5"),
    ("java/com/acme/shop/Cart.java", "this.|last", "java/com/acme/shop/Cart.java:7"),
    ("sh/main.sh", '|greet "', "sh/lib.sh:2"),
    ("sh/main.sh", "$|NAME", "sh/main.sh:2"),
    ("sh/lib.sh", "hello $|who", "sh/lib.sh:3"),
]
RELATED = [
    ("callers", "ts/price.ts", "|plus", ["Cart.cost", "withTax"]),
    ("subtypes", "ts/cart.ts", "class |Cart", ["BigCart"]),
    ("supertypes", "ts/cart.ts", "class |BigCart", ["Cart"]),
    ("implementations", "ts/cart.ts", "interface |Sellable", ["Cart", "BigCart"]),
    ("callees", "go/cmd/main.go", "|main()", ["New", "Money.Add", "Double"]),
    ("callers", "go/util/money.go", "func |New", ["main"]),
    ("references", "go/util/money.go", ") |Add", ["main.Add", "Money.Add", "Double.Add"]),
    ("implementations", "rs/src/shapes.rs", "trait |Area", ["Square"]),
    ("callers", "c/list.c", "|list_size", ["main"]),
    ("references", "c/list.c", "int |n ", ["list_size.n"] * 4),
    ("subtypes", "c/shape.hpp", "class |Shape", ["geo.Circle"]),
    (
        "references",
        "java/com/acme/shop/Item.java",
        "|price",
        ["Cart.add.price", "Cart.price.price", "Item.price"],
    ),
    ("subtypes", "java/com/acme/shop/Base.java", "class |Base", ["Cart"]),
    ("references", "sh/lib.sh", "|greet", ["greet", "greet"]),
]
OUTLINES = {
    "ts/price.ts": ["class Price", "method Price.constructor", "method Price.plus", "function format"],
    "go/util/money.go": ["struct Money", "field Money.Cents", "method Money.Add", "function New"],
    "rs/src/shapes.rs": [
        "trait Area",
        "method Area.area",
        "struct Square",
        "field Square.side",
        "method Square.new",
        "method Square.area",
    ],
    "c/list.h": [
        "macro LIST_H",
        "macro LIST_MAX",
        "struct list",
        "field list.size",
        "field list.next",
        "function list_size",
    ],
    "c/shape.cpp": [
        "namespace geo",
        "method geo.Circle.Circle",
        "method geo.Circle.area",
        "function use",
    ],
    "java/com/acme/shop/Cart.java": ["class Cart", "field Cart.last", "method Cart.add", "method Cart.price"],
    "sh/lib.sh": ["function greet"],
}


@pytest.fixture
def project(root: Path) -> Path:
    write(root, PROJECT)
    return root


async def test_a_name_means_the_same_as_to_its_compiler(project: Path) -> None:
    async with indexed(project) as index:
        found = {
            (path, marked): next(
                iter(places(await index.related("definition", at(project, path, marked)))), ""
            )
            for path, marked, _ in MEANS
        }
        assert not index.failure
    assert found == {(path, marked): expected for path, marked, expected in MEANS}


async def test_callers_subclasses_and_references_cross_files(project: Path) -> None:
    async with indexed(project) as index:
        for relation, path, marked, expected in RELATED:
            rows = await index.related(relation, at(project, path, marked))
            assert (relation, path, marked, names(rows)) == (relation, path, marked, expected)


async def test_outlines_name_containers(project: Path) -> None:
    async with indexed(project) as index:
        for path, expected in OUTLINES.items():
            rows = await index.outline(path)
            assert [f"{row.kind} {name}" for row, name in zip(rows, names(rows), strict=True)] == expected


async def test_hover_shows_signature_and_comment(project: Path) -> None:
    async with indexed(project) as index:
        go = await index.hover(at(project, "go/cmd/main.go", "m.|Add"))
        c = await index.hover(at(project, "c/main.c", "|list_size"))
        java = await index.hover(at(project, "java/com/acme/shop/Cart.java", "class |Cart"))
    assert go == "```go\nfunc (m *Money) Add(other Money) Money\n```\n\nAdd adds."
    assert c == "```c\nint list_size(struct list *l)\n```\n\nHow many there are."
    assert java.startswith("```java\npublic class Cart extends Base implements Priced") and "A cart." in java


async def test_a_header_that_is_not_c_is_parsed_as_cpp(root: Path) -> None:
    write(root, "=== a.h\nclass Shape { public: int area(); };\n=== b.h\nint f(int restrict_);\n")
    async with indexed(root) as index:
        assert dict(index.languages()) == {"cpp": 1, "c": 1}
        assert names(await index.outline("a.h")) == ["Shape", "Shape.area"]


async def test_documents_have_outlines_that_no_search_for_symbols_finds(root: Path) -> None:
    write(
        root,
        """
=== a.json
{"name": "x", "scripts": {"build": 1}}
=== b.yaml
on:
  push: 1
jobs: {test: 2}
=== c.toml
[tool.ruff]
line = 1
[[x]]
=== d.md
# One
text
## Two
""",
    )
    async with indexed(root) as index:
        shown = {path: names(await index.outline(path)) for path in ("a.json", "b.yaml", "c.toml", "d.md")}
        found = await index.symbols("build")
        named = await index.named("a.json:scripts.build")
    assert shown["a.json"] == ["name", "scripts", "scripts.build"]
    assert shown["b.yaml"] == ["on", "on.push", "jobs", "jobs.test"]
    assert shown["c.toml"] == ["tool.ruff", "tool.ruff.line", "x"]
    assert shown["d.md"] == ["One", "One.Two"]
    assert found == () and places(named) == ["a.json:1"]
