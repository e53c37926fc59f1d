import { describe, expect, test } from "vitest";
import { type IdleMeasurement, IdleResults, type IdleUsage } from "#bench/idle/measurement.ts";
import { parseMebibytes, readMemory } from "#bench/idle/memory.ts";
import { parseRelayState } from "#bench/idle/relay-process.ts";
import { formatIdle } from "#bench/idle/report.ts";

describe("memory from /proc", () => {
  const status = "Name:\tnode\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\nRssAnon:\t   51200 kB\n";

  test.each([
    ["VmHWM", 200],
    ["VmRSS", 100],
    ["RssAnon", 50],
  ])("%s", (field, expected) => {
    expect(parseMebibytes(status, field)).toBe(expected);
  });

  test("a missing field is undefined, not zero", () => {
    expect(() => parseMebibytes(status, "Rss")).toThrow("no Rss");
  });

  test.runIf(process.platform === "linux")("reads this process", async () => {
    const { residentMiB, peakMiB, anonymousMiB, proportionalMiB } = await readMemory(process.pid);
    expect(peakMiB).toBeGreaterThanOrEqual(residentMiB);
    expect(residentMiB).toBeGreaterThan(anonymousMiB);
    expect(proportionalMiB).toBeGreaterThan(10);
  });
});

test("a relay's state is the sum over its clusters", () => {
  const metrics = [
    "# TYPE serverless_ccm_objects gauge",
    'serverless_ccm_objects{cluster="a",controller="cloud-node-controller"} 50',
    'serverless_ccm_objects{cluster="a",controller="cloud-node-lifecycle-controller"} 50',
    'serverless_ccm_objects{cluster="b",controller="cloud-node-controller"} 40',
    'serverless_ccm_objects_total{cluster="a",outcome="changed"} 7',
    'serverless_ccm_cluster_ready{cluster="a"} 1',
    'serverless_ccm_cluster_ready{cluster="b"} 0',
    'serverless_ccm_pending_objects{cluster="b"} 3',
    'serverless_ccm_in_flight_objects{cluster="b"} 2',
  ].join("\n");
  expect(parseRelayState(metrics)).toEqual({ readyClusters: 1, objects: 90, unfinished: 5 });
});

describe("the section on idle relays", () => {
  test("compares one relay with as many stock controllers as it has clusters", () => {
    const lines = formatIdle(results({ clusters: 100, stock: usage(80, 0.25) })).split("\n");
    expect(lines.slice(2, 5)).toEqual([
      "| one relay, 100 clusters of 50 nodes | 150 MiB | 160 MiB | 140 MiB | 30 MiB | 2 % |",
      "| one stock controller, one cluster of 50 nodes | 80 MiB | 90 MiB | 70 MiB |  | 0.25 % |",
      "| the same × 100 | 8,000 MiB | 9,000 MiB | 7,000 MiB |  | 25 % |",
    ]);
  });

  test("omits what was not measured", () => {
    const section = formatIdle(results({ clusters: 1 }));
    expect(section).toContain("| one relay, 1 cluster of 50 nodes |");
    expect(section).not.toContain("stock");
    expect(section).not.toContain("embedded");
  });
});

function results(more: Partial<IdleMeasurement>): IdleResults {
  const measurement = {
    startedAt: "2026-01-01T00:00:00.000Z",
    cpu: "a processor",
    cores: 2,
    node: "v24.0.0",
    clusters: 1,
    kubeApiservers: 1,
    nodesEach: 50,
    heartbeatSeconds: 300,
    initializing: { seconds: 2, cpuSeconds: 1, peakMiB: 170 },
    idle: usage(150, 2),
    heap: { totalMiB: 40, usedMiB: 30, externalMiB: 5 },
    ...more,
  };
  return IdleResults.parse({ measurements: [measurement] });
}

function usage(residentMiB: number, cpuSeconds: number): IdleUsage {
  return {
    seconds: 100,
    cpuSeconds,
    residentMiB,
    peakMiB: residentMiB + 10,
    anonymousMiB: residentMiB - 10,
    proportionalMiB: residentMiB - 5,
  };
}
