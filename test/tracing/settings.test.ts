import { describe, expect, test } from "vitest";
import { findSampler, readTracingSettings } from "#tracing/settings.ts";

const AT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };

function read(environment: Readonly<Record<string, string>>) {
  const result = readTracingSettings({ ...AT, ...environment }, "serverless-ccm-node");
  if (result.kind === "faults") return result.faults;
  const { url, headers, resource, timeoutMs } = result.settings;
  return { url: url.href, headers, resource, timeoutMs };
}

const USUAL = {
  url: "http://collector:4318/v1/traces",
  headers: {},
  resource: { "service.name": "serverless-ccm-node" },
  timeoutMs: 10_000,
};

describe("OpenTelemetry's environment", () => {
  test.each([
    [{}, {}],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "https://c/base/" }, { url: "https://c/base/v1/traces" }],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://c/own" }, { url: "https://c/own" }],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "a=b%20c, d=e=f" }, { headers: { a: "b c", d: "e=f" } }],
    [
      { OTEL_EXPORTER_OTLP_HEADERS: "a=b", OTEL_EXPORTER_OTLP_TRACES_HEADERS: "c=d" },
      { headers: { c: "d" } },
    ],
    [{ OTEL_SERVICE_NAME: "mine" }, { resource: { "service.name": "mine" } }],
    [
      { OTEL_RESOURCE_ATTRIBUTES: "service.name=its,cell=a" },
      { resource: { "service.name": "its", cell: "a" } },
    ],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: "500" }, { timeoutMs: 500 }],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: "" }, { timeoutMs: 10_000 }],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf", OTEL_TRACES_SAMPLER: "always_off" }, {}],
  ])("%j", (environment, difference) => {
    expect(read(environment)).toEqual({ ...USUAL, ...difference });
  });

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "collector" }, ["OTEL_EXPORTER_OTLP_ENDPOINT: no http"]],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "file:///x" }, ["OTEL_EXPORTER_OTLP_ENDPOINT: no http"]],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, ["OTEL_EXPORTER_OTLP_PROTOCOL: grpc is not spoken"]],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "Bearer s3cret" }, ["OTEL_EXPORTER_OTLP_HEADERS: not a list"]],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "a=s3cret%0Ab: c" }, ["OTEL_EXPORTER_OTLP_HEADERS: not a list"]],
    [{ OTEL_RESOURCE_ATTRIBUTES: "x" }, ["OTEL_RESOURCE_ATTRIBUTES: not a list"]],
    [{ OTEL_TRACES_SAMPLER: "some" }, ["OTEL_TRACES_SAMPLER: one of always_on"]],
    [
      { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" },
      ["OTEL_TRACES_SAMPLER: one of always_on"],
    ],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: "x", OTEL_EXPORTER_OTLP_TIMEOUT: "soon" },
      ["OTEL_EXPORTER_OTLP_ENDPOINT: no http", "OTEL_EXPORTER_OTLP_TIMEOUT: not a number"],
    ],
  ])("reports what is wrong with %j, without possible secrets", (environment, begin) => {
    const faults = read(environment);
    expect(faults).toEqual(begin.map((words) => expect.stringContaining(words)));
    expect(JSON.stringify(faults)).not.toContain("s3cret");
  });
});

describe("a sampler", () => {
  const LOW = `${"0".repeat(31)}1`;
  const HIGH = "f".repeat(32);
  const parent = (sampled: boolean) => ({ traceId: LOW, spanId: "1".repeat(16), sampled });

  test.each([
    ["always_on", "1", [true, true, true]],
    ["always_off", "1", [false, false, false]],
    ["traceidratio", "0.5", [true, false, true]],
    ["traceidratio", "0", [false, false, false]],
    ["traceidratio", "1", [true, true, true]],
    ["parentbased_always_on", "1", [true, true, false]],
    ["parentbased_always_off", "1", [false, false, false]],
    ["parentbased_traceidratio", "0.5", [true, false, false]],
  ] as const)(
    "%s, %s: of a low and a high id, and below a parent that is not sampled",
    (name, ratio, takes) => {
      const sampler = findSampler(name, ratio);
      expect([sampler?.(LOW, undefined), sampler?.(HIGH, undefined), sampler?.(LOW, parent(false))]).toEqual(
        takes,
      );
    },
  );

  test("is as the parent has it without a name", () => {
    expect(findSampler()?.(HIGH, parent(true))).toBe(true);
    expect(findSampler()?.(HIGH, parent(false))).toBe(false);
    expect(findSampler()?.(HIGH, undefined)).toBe(true);
  });

  test.each([
    ["toString", "1"],
    ["always_on", ""],
    ["always_on", "x"],
  ])("%s, %j is rejected", (name, ratio) => {
    expect(findSampler(name, ratio)).toBeUndefined();
  });
});
