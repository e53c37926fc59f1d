import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { systemClock } from "#kube/follow/clock.ts";
import type { ControllerStatus } from "#relay/cluster-relay.ts";
import { type ClusterState, createUnfollowedState } from "#relay/cluster-state.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import { type RelayServer, startRelayServer } from "#relay/server.ts";
import { type Browser, startChromium } from "#test/relay/page/chromium.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const run = promisify(execFile);

describeWithPart("chromium", "a browser", (chromium) => {
  test("shows hostile names as text, runs only our script and style, and shows updates", async () => {
    const hostile = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>";
    const metrics = createRelayMetrics();
    let looks = 0;
    const relay = {
      status() {
        looks += 1;
        return [createUnfollowedState(hostile, { code: "Invalid", message: `look ${looks}: ${hostile}` })];
      },
    };
    // The browser's time runs faster as well.
    const clock = {
      ...systemClock,
      now: () => systemClock.now() + looks * 10_000,
      wallTime: () => new Date(systemClock.wallTime().getTime() + looks * 10_000),
    };
    const server = await startRelayServer({
      ...{ relay, metrics, values: metrics.values, clock },
      bindAddress: "127.0.0.1",
      port: 0,
    });
    const profile = await mkdtemp(join(tmpdir(), "chromium-"));
    const flags = [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      `--user-data-dir=${profile}`,
      "--enable-logging=stderr",
    ];
    const { stdout, stderr } = await run(chromium, [
      ...flags,
      "--virtual-time-budget=12000",
      "--dump-dom",
      server.url,
    ]);
    await server.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    expect(stdout).toContain("<title>serverless-ccm: 0 of 1 clusters ready</title>");
    expect(stdout).toContain("&lt;img src=x onerror=");
    expect(stdout).toMatch(/look [2-9]:/);
    // The browser reports violations of the policy.
    expect(stderr).not.toMatch(/Content Security Policy|Refused to/);
  });
});

describeWithPart("chromium", "in Chromium, the page", (chromium) => {
  const clusters: ClusterState[] = [
    clusterIn("broken", { ready: false, failure: { code: "NotTrusted", message: "signed by no authority" } }),
    clusterIn("slow", {
      controllers: [
        waitingFor("cloud-node-controller", "InstanceNotFound"),
        waitingFor("service-lb-controller", "Denied"),
      ],
    }),
    clusterIn("stopped", { stop: "deletes" }),
    clusterIn("tenant-with-a-name-that-is-rather-long-for-a-narrow-screen", {}),
  ];
  let server: RelayServer;
  let browser: Browser;
  beforeAll(async () => {
    const metrics = createRelayMetrics();
    const relay = { status: () => clusters };
    server = await startRelayServer({
      ...{ relay, metrics, values: metrics.values, bindAddress: "127.0.0.1", port: 0 },
    });
    browser = await startChromium(chromium);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  /** The middle of each row's bar, its word, and the word's colour. */
  const BARS = `[...document.querySelectorAll("tbody tr")].map((row) => {
    const { left, top, height } = row.querySelector("th").getBoundingClientRect();
    const word = row.querySelector(".word");
    return { x: Math.floor(left + 1), y: Math.floor(top + height / 2), word: word.innerText,
      colour: getComputedStyle(word).color };
  })`;

  test.each([1400, 375])(
    "shows next to each state, in a picture of %i pixels, a bar of its colour",
    async (width) => {
      const tab = await browser.open(server.url, width, 1600);
      const bars = Bars.parse(await tab.evaluate(BARS));
      expect(bars.map(({ word }) => word)).toEqual(["not ready", "waiting", "stopped", "ok"]);
      const picture = await tab.screenshot();
      // Its own page may load no picture.
      const blank = await browser.open("about:blank", 100);
      const colours = await blank.evaluate(`(async () => {
      const blob = await (await fetch("data:image/png;base64,${picture}")).blob();
      const bitmap = await createImageBitmap(blob);
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      context.drawImage(bitmap, 0, 0);
      return ${JSON.stringify(bars)}.map(({ x, y }) => {
        const [red, green, blue] = context.getImageData(x, y, 1, 1).data;
        return "rgb(" + [red, green, blue].join(", ") + ")";
      });
    })()`);
      expect(colours).toEqual(bars.map(({ colour }) => colour));
      const [bad, warn, alsoWarn, good] = bars.map(({ colour }) => colour);
      expect([new Set([bad, warn, good]).size, alsoWarn]).toEqual([3, warn]);
    },
  );

  test.each([1400, 800, 375, 320])("fits a screen of %i pixels", async (width) => {
    const tab = await browser.open(server.url, width);
    expect(await tab.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    const titles = `getComputedStyle(document.querySelector("tbody td"), "::before").content`;
    expect(await tab.evaluate(titles)).toBe(width < 960 ? '"State: "' : "none");
  });

  test("supports the keyboard, shows the focus, and keeps it when the page is updated", async () => {
    const tab = await browser.open(server.url, 1400);
    const walked: unknown[] = [];
    for (let key = 0; key < 4; key += 1) {
      await tab.press("Tab");
      walked.push(await tab.evaluate("document.activeElement.innerText"));
    }
    expect(walked).toEqual(["NotTrusted", "InstanceNotFound", "Denied", "deletes"]);
    expect(await tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
    const before = await tab.evaluate(
      "(window.row = document.querySelector('tbody tr'), document.activeElement.id)",
    );
    await waitUntilTrue("the page to be brought anew", async () =>
      Boolean(await tab.evaluate("!window.row.isConnected")),
    );
    await waitUntilTrue(
      "the focus",
      async () => (await tab.evaluate("document.activeElement.id")) === before,
    );
  });

  test("follows a code to its runbook with the keyboard", async () => {
    const tab = await browser.open(server.url, 1400);
    await tab.press("Tab");
    await tab.press("Enter");
    await waitUntilTrue(
      "the runbook",
      async () => (await tab.evaluate("document.title")) === "ClusterNotReady: serverless-ccm",
    );
  });
});

const Bars = z.array(z.object({ x: z.number(), y: z.number(), word: z.string(), colour: z.string() }));

function clusterIn(name: string, difference: Partial<ClusterState>): ClusterState {
  return {
    ...{ name, ready: true, failure: undefined, configurationFault: undefined, limited: [], controllers: [] },
    ...{ invocations: 1, objects: 300, needed: 0, inFlight: 0, due: { work: 0, look: 0 } },
    ...difference,
  };
}

function waitingFor(name: ControllerStatus["name"], reason: string): ControllerStatus {
  const oldest = { name: "ip-10-0-1-17.eu-central-1.compute.internal", sinceMs: Date.now() - 300_000 };
  return {
    ...{ name, invocations: 0, objects: 300, needed: 1, inFlight: 0, due: { work: 0, look: 0 } },
    waiting: [{ reason, count: 2, age: "lt10m", oldest }],
  };
}
