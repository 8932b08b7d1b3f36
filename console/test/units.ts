// What the console works out by itself, without a server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromConnectionString } from "../src/api/connection";
import { encodePath, escapeXml } from "../src/api/data";
import { parseAcl, writeAcl } from "../src/api/lake";
import { formatOf } from "../src/api/query";
import { decoded } from "../src/api/queue";
import { batches, jsonOf } from "../src/api/table";
import type { EdmType, Entity } from "../src/api/table";
import { bytes, seconds } from "../src/ui/say";
import { PAGES_KEPT, Window } from "../src/ui/window";
import { fromText, parseCsv, toCsv, toJson } from "../src/view/data/exchange";

const entity = (partition: string, row: string, values: Record<string, [EdmType, string]> = {}): Entity => ({
  partition, row, timestamp: "", etag: "", values: Object.fromEntries(Object.entries(values).map(([name, [type, text]]) => [name, { type, text }])),
});

test("connection strings", () => {
  for (const [text, found] of [
    ["AccountName=a;AccountKey=k==;BlobEndpoint=http://x/a;", { account: "a", key: "k==" }],
    ["DefaultEndpointsProtocol=http;AccountKey=k= ; accountname = a", { account: "a", key: "k=" }],
    ["Eby8vdM02xNOcq==", undefined],
    ["AccountName=a", undefined],
  ] as const) assert.deepEqual(fromConnectionString(text), found, text);
});

test("paths keep their slashes and nothing else", () => {
  for (const [path, encoded] of [["a/b c", "a/b%20c"], ["ü+%?#", "%C3%BC%2B%25%3F%23"], ["a//b", "a//b"], ["..", ".."]]) assert.equal(encodePath(path!), encoded);
  assert.equal(escapeXml(`<a b="c'&">`), "&#60;a b=&#34;c&#39;&#38;&#34;&#62;");
});

test("CSV is read as RFC 4180 has it", () => {
  for (const [text, lines] of [
    ["a,b\r\n1,2\r\n", [["a", "b"], ["1", "2"]]],
    ['"x, ""y""\nz",2', [['x, "y"\nz', "2"]]],
    ["a,\n,b", [["a", ""], ["", "b"]]],
    ["", []],
  ] as const) assert.deepEqual(parseCsv(text), lines, text);
});

test("entities survive CSV and JSON", () => {
  const all = [
    entity("p", "1", { name: ["String", 'Tom, the "cat"\nof 9'], lives: ["Int64", "9007199254740993"], good: ["Boolean", "true"] }),
    entity("p", "2", { name: ["Int32", "7"], weight: ["Double", "1.5"], at: ["DateTime", "2026-01-01T00:00:00Z"] }),
  ];
  const plain = all.map(({ partition, row, values }) => ({ partition, row, values }));
  assert.deepEqual(fromText("x.csv", toCsv(all)), plain);
  assert.deepEqual(fromText("x.json", toJson(all)), plain);
});

test("what cannot be imported says why", () => {
  for (const [name, text, why] of [
    ["x.csv", "a,b\n1,2\n", /PartitionKey and RowKey/],
    ["x.csv", "PartitionKey,RowKey,a:Number\n1,2,3\n", /Number is no type/],
    ["x.csv", "PartitionKey,RowKey\n1,2,3\n", /Line 2/],
    ["x.json", '{"a":1}', /list of entities/],
    ["x.json", '[{"PartitionKey":"a"}]', /Entity 1/],
    ["x.json", '[{"PartitionKey":"a","RowKey":"b","c":{}}]', /no plain value/],
  ] as const) assert.throws(() => fromText(name, text), why);
});

test("values of the wrong type are none", () => {
  for (const [type, text, value] of [
    ["Int32", "9", 9], ["Int32", "9.5", undefined], ["Boolean", "yes", undefined], ["Double", "", undefined], ["Double", "NaN", "NaN"], ["Int64", "9007199254740993", "9007199254740993"],
  ] as const) assert.equal(jsonOf({ type, text }), value, `${type} ${text}`);
});

test("a transaction has one partition and at most a hundred entities", () => {
  const all = [...Array.from({ length: 250 }, (_, index) => entity("a", String(index))), entity("b", "0")];
  assert.deepEqual(batches(all).map((group) => [group[0]!.partition, group.length]), [["a", 100], ["a", 100], ["a", 50], ["b", 1]]);
});

test("Base64 is decoded only where it says text", () => {
  for (const [text, said] of [["aGVsbG8=", "hello"], ["hello", undefined], ["/w==", undefined], ["AAAA", undefined], ["feed the cat", undefined]] as const) assert.equal(decoded(text), said, text);
});

test("formats that a query can read", () => {
  for (const [name, type, format] of [["a.PARQUET", "", "parquet"], ["a", "text/csv; charset=utf-8", "csv"], ["a.jsonl", "", "json"], ["a.json", "application/json", undefined]] as const) assert.equal(formatOf(name, type), format, name);
});

test("numbers as people read them", () => {
  assert.deepEqual([bytes(0), bytes(1023), bytes(1024), bytes(10 << 20)], ["0 B", "1023 B", "1.0 KiB", "10 MiB"]);
  assert.deepEqual([seconds(null), seconds(9.94), seconds(61), seconds(90000)], ["no end", "9.9 s", "1 min 1 s", "1 d 1 h"]);
});

test("a list of a million names keeps a few pages, and finds the others again", () => {
  const page = (at: number) => Array.from({ length: 1000 }, (_, index) => at * 1000 + index);
  const marker = (at: number) => (at ? `m${at}` : "");
  let list = Window.empty<number>();
  for (let at = 0; at < 1000; at++) {
    list = list.add(marker(at), page(at)).around(list.length, list.length + 40);
    assert.ok(list.held <= PAGES_KEPT * 1000, `${list.held} items are kept`);
  }
  assert.equal(list.length, 1_000_000);
  assert.deepEqual(list.slice(999_998, 1_000_000), [999_998, 999_999]);
  assert.deepEqual(list.slice(499_999, 500_001), [undefined, undefined]);
  assert.deepEqual(list.missing(499_999, 500_001), [marker(499), marker(500)]);
  list = list.refill(marker(500), page(500)).around(500_000, 500_040);
  assert.deepEqual(list.slice(500_000, 500_002), [500_000, 500_001]);
  assert.ok(list.held <= PAGES_KEPT * 1000);
  assert.equal(list.indexOf((item) => item === 500_007), 500_007);
  // A name of the page was deleted meanwhile: what comes behind it moves.
  list = list.refill(marker(500), page(500).slice(1));
  assert.deepEqual([list.length, list.slice(500_000, 500_001)], [999_999, [500_001]]);
  assert.deepEqual(list.slice(999_998, 999_999), list.around(999_998, 999_999).slice(999_998, 999_999));
});

test("access control lists are read and written as they were", () => {
  const text = "user::rwx,user:11111111-2222-3333-4444-555555555555:r-x,group::r--,mask::rwx,other::---,default:user::rwx,default:other::--x";
  assert.equal(writeAcl(parseAcl(text)), text);
  assert.deepEqual(parseAcl("default:group:g:-w-"), [{ isDefault: true, kind: "group", id: "g", read: false, write: true, execute: false }]);
  assert.deepEqual(parseAcl(""), []);
});
