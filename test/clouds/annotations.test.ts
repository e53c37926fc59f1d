import { expect, test } from "vitest";
import {
  boolean,
  inOrder,
  is,
  itemsOf,
  list,
  MAX_UNKNOWN,
  mayBe,
  oneOf,
  type Read,
  text,
  trimmed,
  unknownAnnotation,
  wholeNumber,
} from "#clouds/annotations/reading.ts";
import {
  ANNOTATION_PREFIX as AWS_PREFIX,
  readAnnotations as readOnAws,
} from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { ANNOTATIONS as AWS } from "#clouds/aws/load-balancers/annotations/table.ts";
import {
  ANNOTATION_PREFIX as DIGITALOCEAN_PREFIX,
  DISOWN_ANNOTATION,
  ID_ANNOTATION,
} from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import { readAnnotations as readOnDigitalOcean } from "#clouds/digitalocean/load-balancers/annotations/read-annotations.ts";
import { ANNOTATIONS as DIGITALOCEAN } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import { METHOD_ANNOTATION } from "#clouds/keepalived/model.ts";
import { ADDRESSES_ANNOTATION } from "#clouds/kubevip/keys.ts";
import { readAnnotations as readOnOci } from "#clouds/oci/load-balancers/annotations/read-annotations.ts";
import { ANNOTATIONS as OCI } from "#clouds/oci/load-balancers/annotations/table.ts";
import { fieldIn } from "#core/tenant-fact.ts";

const WORDS = ["one", "Two", "three"] as const;
const ITEMS = list(/^[a-z]+$/, { atMost: 2, allowed: "at most 2 words" });
const wrong = (allowed: string) => mayBe(allowed);

test.each<[string, Read<unknown>, Read<unknown>]>([
  ["a text of a shape", text(/^a+$/, "letters a")("aa"), is("aa")],
  ["a text of another", text(/^a+$/, "letters a")("ab"), wrong("letters a")],
  ["a boolean of Go", boolean("T"), is(true)],
  ["a boolean that is none", boolean("yes"), wrong("true or false")],
  ["the least number", wholeNumber(2, 4)("2"), is(2)],
  ["the greatest number", wholeNumber(2, 4)("4"), is(4)],
  ["a number that is too great", wholeNumber(2, 4)("5"), wrong("a whole number from 2 to 4")],
  ["a number with a sign", wholeNumber(2, 4)("+3"), wrong("a whole number from 2 to 4")],
  [
    "a number with more digits than are exact",
    wholeNumber(0, 4)("0".repeat(16)),
    wrong("a whole number from 0 to 4"),
  ],
  ["no number", wholeNumber(0, 4)(""), wrong("a whole number from 0 to 4")],
  ["a number with a unit", wholeNumber(2, 4, { unit: " (s)" })("x"), wrong("a whole number from 2 to 4 (s)")],
  ["a number that is read in another way", wholeNumber(2, 4, { numberOf: () => 3 })("three"), is(3)],
  ["one of the words", oneOf(WORDS)("Two"), is("Two")],
  ["a word that is capitalized otherwise", oneOf(WORDS)("two"), wrong("one, Two or three")],
  ["a word in any case", oneOf(WORDS, "anyCase")("tWO"), is("Two")],
  ["the one word", oneOf(["*"])("+"), wrong("*")],
  ["items", ITEMS(" a, ,b,"), is(["a", "b"])],
  ["no items", ITEMS(" , "), is(undefined)],
  ["too many items", ITEMS("a,b,c"), wrong("at most 2 words")],
  ["an item twice", ITEMS("a,a"), wrong("at most 2 words")],
  ["an item of another shape", ITEMS("a,1"), wrong("at most 2 words")],
  ["white space around it", trimmed(boolean)(" true\n"), is(true)],
])("%s", (_, read, expected) => {
  expect(read).toEqual(expected);
});

test("what may not be said has its own code", () => {
  expect(mayBe("nothing", "ReservedTag")).toEqual({ ok: false, allowed: "nothing", code: "ReservedTag" });
});

test("items are what stands between commas", () => {
  expect(itemsOf(" a b ,,c ")).toEqual(["a b", "c"]);
});

test("annotations come by name, whichever way they are written", () => {
  expect(inOrder({ "b-1": "x", b: "y", a: "z" })).toEqual([
    ["a", "z"],
    ["b", "y"],
    ["b-1", "x"],
  ]);
  expect(inOrder(undefined)).toEqual([]);
});

test("one that is not known is told with the one that may be meant", () => {
  expect(unknownAnnotation("x/nam", "x/name")).toMatchObject({
    ...{ code: "UnknownAnnotation", field: "x/nam" },
    allowed: expect.stringMatching(/has no effect: perhaps x\/name$/),
  });
  expect(unknownAnnotation("x/y", undefined).allowed).toMatch(/has no effect$/);
});

test.each([
  ...Object.keys(AWS).map((suffix) => `${AWS_PREFIX}${suffix}`),
  ...Object.keys(DIGITALOCEAN).map((suffix) => `${DIGITALOCEAN_PREFIX}${suffix}`),
  ...[DISOWN_ANNOTATION, ID_ANNOTATION],
  ...Object.keys(OCI),
  ...[METHOD_ANNOTATION, ADDRESSES_ANNOTATION],
])("a Warning has room for the name of %s", (field) => {
  expect(fieldIn({ code: "InvalidAnnotation", field })).toBe(field);
});

test.each<[string, (all: Record<string, string>) => { readonly kind: string }]>([
  ["service.beta.kubernetes.io/aws-load-balancer-", (all) => readOnAws("network", all)],
  ["service.beta.kubernetes.io/do-loadbalancer-", readOnDigitalOcean],
  ["oci.oraclecloud.com/", (all) => readOnOci("lb", all)],
])("of thousands under %s that nobody knows ten are told", (prefix, read) => {
  const all = Array.from({ length: 20_000 }, (_, index) => [`${prefix}subnets-and-more-words-${index}`, ""]);
  expect(read(Object.fromEntries(all))).toMatchObject({
    kind: "read",
    warnings: Array.from({ length: MAX_UNKNOWN }, () => ({ code: "UnknownAnnotation" })),
  });
});
