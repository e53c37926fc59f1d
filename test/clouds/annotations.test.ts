import { expect, test } from "vitest";
import {
  accept,
  buildUnknownAnnotationIssue,
  MAX_UNKNOWN,
  type ReadResult,
  readBoolean,
  readEnum,
  readInteger,
  readList,
  readText,
  readTrimmed,
  reject,
  sortAnnotations,
  splitItems,
} from "#clouds/annotations/readers.ts";
import {
  ANNOTATION_PREFIX as AWS_PREFIX,
  readAnnotations as readOnAws,
} from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { ANNOTATIONS as AWS } from "#clouds/aws/load-balancers/annotations/table.ts";
import { readAnnotations as readOnDigitalOcean } from "#clouds/digitalocean/load-balancers/annotations/read-annotations.ts";
import {
  ANNOTATIONS as DIGITALOCEAN,
  ANNOTATION_PREFIX as DIGITALOCEAN_PREFIX,
  DISOWN_ANNOTATION,
  ID_ANNOTATION,
} from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import { METHOD_ANNOTATION } from "#clouds/keepalived/load-balancers/model.ts";
import { ADDRESSES_ANNOTATION } from "#clouds/kubevip/load-balancers/holders.ts";
import { readAnnotations as readOnOci } from "#clouds/oci/load-balancers/annotations/read-annotations.ts";
import { ANNOTATIONS as OCI } from "#clouds/oci/load-balancers/annotations/table.ts";
import { getFieldFact } from "#core/tenant-fact.ts";

const WORDS = ["one", "Two", "three"] as const;
const ITEMS = readList(/^[a-z]+$/, { atMost: 2, allowed: "at most 2 words" });
const wrong = (allowed: string) => reject(allowed);

test.each<[string, ReadResult<unknown>, ReadResult<unknown>]>([
  ["a text of the expected format is accepted", readText(/^a+$/, "letters a")("aa"), accept("aa")],
  ["a text of another format is rejected", readText(/^a+$/, "letters a")("ab"), wrong("letters a")],
  ["a boolean in Go's syntax is accepted", readBoolean("T"), accept(true)],
  ["an invalid boolean is rejected", readBoolean("yes"), wrong("true or false")],
  ["the smallest number is accepted", readInteger(2, 4)("2"), accept(2)],
  ["the greatest number is accepted", readInteger(2, 4)("4"), accept(4)],
  ["a number that is too great is rejected", readInteger(2, 4)("5"), wrong("a whole number from 2 to 4")],
  ["a number with a sign is rejected", readInteger(2, 4)("+3"), wrong("a whole number from 2 to 4")],
  [
    "a number with more than 15 digits is rejected",
    readInteger(0, 4)("0".repeat(16)),
    wrong("a whole number from 0 to 4"),
  ],
  ["an empty number is rejected", readInteger(0, 4)(""), wrong("a whole number from 0 to 4")],
  [
    "the message about an invalid number has the unit",
    readInteger(2, 4, { unit: " (s)" })("x"),
    wrong("a whole number from 2 to 4 (s)"),
  ],
  ["a number is read by the given parser", readInteger(2, 4, { parseNumber: () => 3 })("three"), accept(3)],
  ["a value of the list is accepted", readEnum(WORDS)("Two"), accept("Two")],
  ["a value with other capitals is rejected", readEnum(WORDS)("two"), wrong("one, Two or three")],
  [
    "a value with other capitals is accepted if case does not matter",
    readEnum(WORDS, "anyCase")("tWO"),
    accept("Two"),
  ],
  ["the message about a list of one value names it", readEnum(["*"])("+"), wrong("*")],
  ["empty items are left out", ITEMS(" a, ,b,"), accept(["a", "b"])],
  ["a list without items is undefined", ITEMS(" , "), accept(undefined)],
  ["a list with too many items is rejected", ITEMS("a,b,c"), wrong("at most 2 words")],
  ["a list with a duplicate is rejected", ITEMS("a,a"), wrong("at most 2 words")],
  ["a list with an item of another format is rejected", ITEMS("a,1"), wrong("at most 2 words")],
  ["surrounding white space is ignored", readTrimmed(readBoolean)(" true\n"), accept(true)],
])("%s", (_, read, expected) => {
  expect(read).toEqual(expected);
});

test("a forbidden value has its own code", () => {
  expect(reject("nothing", "ReservedTag")).toEqual({ ok: false, allowed: "nothing", code: "ReservedTag" });
});

test("items are the texts between commas", () => {
  expect(splitItems(" a b ,,c ")).toEqual(["a b", "c"]);
});

test("annotations are sorted by name", () => {
  expect(sortAnnotations({ "b-1": "x", b: "y", a: "z" })).toEqual([
    ["a", "z"],
    ["b", "y"],
    ["b-1", "x"],
  ]);
  expect(sortAnnotations(undefined)).toEqual([]);
});

test("an unknown annotation is reported with a similar known one", () => {
  expect(buildUnknownAnnotationIssue("x/nam", "x/name")).toMatchObject({
    ...{ code: "UnknownAnnotation", field: "x/nam" },
    allowed: expect.stringMatching(/has no effect: perhaps x\/name$/),
  });
  expect(buildUnknownAnnotationIssue("x/y", undefined).allowed).toMatch(/has no effect$/);
});

test.each([
  ...Object.keys(AWS).map((suffix) => `${AWS_PREFIX}${suffix}`),
  ...Object.keys(DIGITALOCEAN).map((suffix) => `${DIGITALOCEAN_PREFIX}${suffix}`),
  ...[DISOWN_ANNOTATION, ID_ANNOTATION],
  ...Object.keys(OCI),
  ...[METHOD_ANNOTATION, ADDRESSES_ANNOTATION],
])("a Warning has room for the name of %s", (field) => {
  expect(getFieldFact({ field })).toBe(field);
});

test.each<[string, (all: Record<string, string>) => { readonly kind: string }]>([
  ["service.beta.kubernetes.io/aws-load-balancer-", (all) => readOnAws("network", all)],
  ["service.beta.kubernetes.io/do-loadbalancer-", readOnDigitalOcean],
  ["oci.oraclecloud.com/", (all) => readOnOci("lb", all)],
])("of thousands of unknown annotations under %s ten are reported", (prefix, read) => {
  const all = Array.from({ length: 20_000 }, (_, index) => [`${prefix}subnets-and-more-words-${index}`, ""]);
  expect(read(Object.fromEntries(all))).toMatchObject({
    kind: "read",
    warnings: Array.from({ length: MAX_UNKNOWN }, () => ({ code: "UnknownAnnotation" })),
  });
});
