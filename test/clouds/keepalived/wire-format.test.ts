import { describe, expect, test } from "vitest";
import { applyChange } from "#clouds/keepalived/load-balancers/change.ts";
import {
  buildData,
  type Entry,
  formatEntries,
  formatGoJson,
  readVipAssignments,
} from "#clouds/keepalived/load-balancers/vip-assignments.ts";
import { buildVipAssignmentsPatch } from "#clouds/keepalived/load-balancers/vip-store.ts";

const WEB: Entry = { uid: "7d0c", ip: "10.210.38.65", serviceNamespace: "default", serviceName: "web" };
const DNS: Entry = { ...WEB, uid: "9a1f", ip: "10.210.38.66", serviceName: "dns", forwardMethod: "DR" };

const configMap = (annotations?: Record<string, string> | null, data?: Record<string, string> | null) => ({
  metadata: { namespace: "kube-system", name: "vips", resourceVersion: "7", annotations },
  data,
});
const STATE = "k8s.co/cloud-provider-config";
const TEXT =
  '{"services":[{"uid":"7d0c","ip":"10.210.38.65","serviceNamespace":"default","serviceName":"web"},' +
  '{"uid":"9a1f","ip":"10.210.38.66","serviceNamespace":"default","serviceName":"dns","forwardMethod":"DR"}]}';

// The output of Go 1.26's encoding/json for the same texts, in `{"uid":…}`.
test.each([
  ["plain", "web", '{"uid":"web"}'],
  ["markup", "<a href='b'>&", `{"uid":"\\u003ca href='b'\\u003e\\u0026"}`],
  ["separators of lines", "a\u2028b\u2029c", '{"uid":"a\\u2028b\\u2029c"}'],
  ["quotes and backslashes", '"\\/', '{"uid":"\\"\\\\/"}'],
  ["controls", "\t\n\r\u0001\u001f\u007f", '{"uid":"\\t\\n\\r\\u0001\\u001f\u007f"}'],
  ["other letters", "äö✓😀", '{"uid":"äö✓😀"}'],
])("JSON as Go writes it: %s", (_, uid, written) => {
  expect(formatGoJson({ uid })).toBe(written);
});

test("half a surrogate pair is not a character", () => {
  expect(formatGoJson({ uid: "a\ud800b" })).toBe('{"uid":"a\ufffdb"}');
});

test("the annotation and the data are those of keepalived-cloud-provider, byte for byte", () => {
  expect(formatEntries([WEB, DNS])).toBe(TEXT);
  expect(formatEntries([])).toBe('{"services":[]}');
  expect(buildData([WEB, DNS])).toEqual({ "10.210.38.65": "default/web", "10.210.38.66": "default/dns:DR" });
});

describe("a ConfigMap", () => {
  test.each([
    ["without annotations", undefined, []],
    ["with null for annotations", null, []],
    ["with a foreign annotation", { a: "b" }, []],
    ["with an empty state", { [STATE]: '{"services":null}' }, []],
    ["with null", { [STATE]: "null" }, []],
    ["with an empty object", { [STATE]: "{}" }, []],
    ["with entries", { [STATE]: TEXT }, [WEB, DNS]],
    [
      "with white space and unknown fields",
      { [STATE]: ` { "more": [], "services": [ ${JSON.stringify({ ...WEB, more: 1 })} ] }` },
      [WEB],
    ],
  ])("%s", (_, annotations, entries) => {
    expect(readVipAssignments(configMap(annotations))).toMatchObject({ entries, data: {}, marks: {} });
  });

  test.each([
    "",
    "[]",
    "{",
    '"services"',
    '{"services":{}}',
    '{"services":[{"uid":"a"}]}',
    '{"services":[1]}',
    `{"services":[${JSON.stringify({ ...WEB, serviceName: "x".repeat(254) })}]}`,
  ])("whose state is %j cannot be read", (text) => {
    expect(readVipAssignments(configMap({ [STATE]: text }))).toContain(STATE);
  });

  test("that is invalid cannot be read", () => {
    expect(readVipAssignments({ metadata: {} })).toContain("not a ConfigMap");
  });
});

describe("a patch", () => {
  const stored = (annotations?: Record<string, string> | null, data?: Record<string, string>) => {
    const ledger = readVipAssignments(configMap(annotations, data));
    if (typeof ledger === "string") throw new Error(ledger);
    return ledger;
  };
  const assign = { kind: "assign", uid: "7d0c", namespace: "default", name: "web" } as const;
  const patchOf = (before: ReturnType<typeof stored>, change: Parameters<typeof applyChange>[1]) => {
    const done = applyChange(before, change, "10.210.38.64/30");
    return done.kind === "done" ? buildVipAssignmentsPatch(before, done.ledger) : undefined;
  };
  const tests = [{ op: "test", path: "/metadata/resourceVersion", value: "7" }];
  const ANNOTATION = "/metadata/annotations/k8s.co~1cloud-provider-config";

  test("of an empty ConfigMap", () => {
    const value = { [STATE]: TEXT.replace(/,\{"uid":"9a1f".*\}\]/, "]") };
    expect(patchOf(stored(), assign)).toEqual({
      tests,
      operations: [
        { op: "add", path: "/metadata/annotations", value },
        { op: "add", path: "/data", value: { "10.210.38.65": "default/web" } },
      ],
    });
  });

  test("rewrites all data for an address: manual entries go", () => {
    const before = stored({ [STATE]: '{"services":null}' }, { "10.0.0.9": "by/hand" });
    expect(patchOf(before, assign)).toMatchObject({
      operations: [
        { op: "add", path: ANNOTATION },
        { op: "add", path: "/data", value: { "10.210.38.65": "default/web" } },
      ],
    });
  });

  test("removes the one key of a deleted Service, and keeps manual entries", () => {
    const data = { "10.0.0.9": "by/hand", "10.210.38.65": "default/web", "10.210.38.66": "default/dns:DR" };
    expect(patchOf(stored({ [STATE]: TEXT }, data), { kind: "release", uid: "7d0c" })).toEqual({
      tests,
      operations: [
        { op: "add", path: ANNOTATION, value: `{"services":[${TEXT.slice(TEXT.indexOf('{"uid":"9a1f"'))}` },
        { op: "add", path: "/data", value: { "10.0.0.9": "by/hand", "10.210.38.66": "default/dns:DR" } },
      ],
    });
  });

  test("is empty if nothing changes", () => {
    const data = { "10.210.38.65": "default/web", "10.210.38.66": "default/dns:DR" };
    expect(patchOf(stored({ [STATE]: TEXT }, data), assign)).toBeUndefined();
    expect(patchOf(stored({ [STATE]: TEXT }, data), { kind: "release", uid: "unknown" })).toBeUndefined();
  });

  test("of marks writes our annotation, and removes it with the last mark", () => {
    const MARKS = "serverless-ccm.io/orphaned-addresses";
    const data = buildData([WEB, DNS]);
    const marked = patchOf(stored({ [STATE]: TEXT }, data), { kind: "mark", uid: "7d0c", text: "then" });
    expect(marked?.operations).toEqual([
      {
        op: "add",
        path: "/metadata/annotations/serverless-ccm.io~1orphaned-addresses",
        value: '{"7d0c":"then"}',
      },
    ]);
    const before = stored({ [STATE]: TEXT, [MARKS]: '{"7d0c":"then"}' }, data);
    const gone = [{ op: "remove", path: "/metadata/annotations/serverless-ccm.io~1orphaned-addresses" }];
    expect(patchOf(before, { kind: "mark", uid: "7d0c", text: undefined })?.operations).toEqual(gone);
    expect(patchOf(before, { kind: "release", uid: "7d0c" })?.operations).toEqual(
      expect.arrayContaining(gone),
    );
    expect(
      patchOf(stored({ [STATE]: TEXT }, data), { kind: "mark", uid: "unknown", text: "then" }),
    ).toBeUndefined();
    // A Service that replaces its predecessor leaves no mark of that one.
    const ofOld = stored({ [STATE]: TEXT.replace("7d0c", "old"), [MARKS]: '{"old":"then"}' }, data);
    expect(patchOf(ofOld, assign)?.operations).toEqual(expect.arrayContaining(gone));
  });
});
