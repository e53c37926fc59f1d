import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ClusterEntry, hashOfEntry } from "#config/cluster.ts";
import { ClustersFileError } from "#config/clusters-file.ts";
import type { ClusterRegistry } from "#config/registry/registry.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** A registry that the test owns. */
export interface OwnedHome {
  readonly home: ClusterRegistry;
  /** Writes the entry of a cluster, or any other content in its place. */
  write(name: string, entry: unknown): Promise<void>;
  erase(name: string): Promise<void>;
  /** Makes it unreadable until `mend`. */
  break(): Promise<void>;
  mend(): Promise<void>;
  close(): Promise<void>;
}

export const buildEntry = (name: string, difference: Partial<ClusterEntry> = {}): ClusterEntry => ({
  name,
  server: `https://api.${name}.example`,
  cloud: { provider: "no-cloud" },
  ...difference,
});

/** The tests of every cluster registry. */
export function describeHome(title: string, open: () => Promise<OwnedHome>): void {
  describe(`clusters of ${title}`, () => {
    let owned: OwnedHome;
    let ending: AbortController;
    let following: Promise<void> | undefined;
    /** The received contents as usable names, faulty ones with a `!`, and the codes of errors. */
    let heard: string[];

    beforeEach(async () => {
      owned = await open();
      ending = new AbortController();
      following = undefined;
      heard = [];
      await owned.write("blue", buildEntry("blue"));
      await owned.write("green", buildEntry("green"));
    });
    afterEach(async () => {
      ending.abort();
      await following;
      await owned.close();
    });

    function follow(): void {
      following = owned.home.follow({
        signal: ending.signal,
        onContent: ({ clusters, faulty }) =>
          heard.push(
            [...clusters.map(({ name }) => name), ...faulty.map(({ name }) => `${name}!`)].sort().join(" "),
          ),
        onError: ({ code }) => heard.push(code),
        intervalMs: 20,
        // Failures are retried soon.
        random: () => 0.02,
      });
    }
    const untilHeard = (last: string): Promise<void> =>
      waitUntilTrue(`"${last}" to be heard after ${heard}`, () => heard.at(-1) === last);

    test("are read completely, with the hash of the text", async () => {
      const { clusters, faulty } = await owned.home.read();
      const found = clusters.map(({ name, hash }) => [name, hash]).sort();
      expect([found, faulty]).toEqual([
        [
          ["blue", hashOfEntry(buildEntry("blue"))],
          ["green", hashOfEntry(buildEntry("green"))],
        ],
        [],
      ]);
    });

    test("are found by name, and undefined for an unknown name", async () => {
      const clusters = owned.home.byName();
      const found = [await clusters("blue"), await clusters("red")].map((each) => each?.server);
      expect(found).toEqual(["https://api.blue.example", undefined]);
      const [all, named] = [await clusters.all(), await clusters.named(["green", "red"])];
      expect([all.map(({ name }) => name).sort(), named.map(({ name }) => name)]).toEqual([
        ["blue", "green"],
        ["green"],
      ]);
    });

    test("are reread on request", async () => {
      const clusters = owned.home.byName();
      await clusters("blue");
      await owned.write("blue", buildEntry("blue", { server: "https://moved.example" }));
      await waitUntilTrue("the new one", async () => {
        const found = await clusters("blue", { fresh: true });
        return found?.server === "https://moved.example";
      });
    });

    test("report all faults by name and place, and affect no other cluster", async () => {
      await owned.write("red", {
        ...buildEntry("red"),
        server: "http://x",
        limits: { floorShare: 2 },
        tokn: 1,
      });
      const { clusters, faulty } = await owned.home.read();
      const messages = faulty.flatMap(({ faults }) =>
        faults.map(({ subject, message }) => `${subject}: ${message}`),
      );
      expect(clusters.map(({ name }) => name).sort()).toEqual(["blue", "green"]);
      expect(messages.sort()).toEqual([
        expect.stringMatching(/^cluster red: limits.floorShare: /),
        expect.stringMatching(/^cluster red: server: /),
        expect.stringMatching(/^cluster red: tokn: unknown key/),
      ]);
      const byName = owned.home.byName();
      await expect(byName("red")).rejects.toThrow("cluster red: server");
      await expect(byName("blue")).resolves.toBeDefined();
    });

    test("appear, change, become faulty and disappear while they are followed", async () => {
      follow();
      await untilHeard("blue green");
      await owned.write("grey", buildEntry("grey"));
      await untilHeard("blue green grey");
      await owned.write("grey", { ...buildEntry("grey"), server: 7 });
      await untilHeard("blue green grey!");
      await owned.write("grey", buildEntry("grey", { server: "https://other.example" }));
      await untilHeard("blue green grey");
      await owned.erase("green");
      await untilHeard("blue grey");
    });

    test("stay while the registry is unreadable, which is reported once", async () => {
      follow();
      await untilHeard("blue green");
      await owned.break();
      await untilHeard("Unreadable");
      await expect(owned.home.read()).rejects.toBeInstanceOf(ClustersFileError);
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(heard).toEqual(["blue green", "Unreadable"]);
      await owned.mend();
      await untilHeard("blue green");
    });

    test("stay when all disappear at once, because that is a mistake", async () => {
      follow();
      await untilHeard("blue green");
      await owned.erase("blue");
      await owned.erase("green");
      await waitUntilTrue("it to be doubted", () => heard.at(-1) === "Invalid");
    });
  });
}
