import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ClusterEntry } from "#config/cluster.ts";
import { hashOfEntry } from "#config/cluster-hash.ts";
import { ClustersFileError } from "#config/clusters-file.ts";
import type { ClusterHome } from "#config/home/home.ts";
import { untilTrue } from "#test/until-true.ts";

/** A home whose owner the test is. */
export interface OwnedHome {
  readonly home: ClusterHome;
  /** Writes the entry of a cluster down, or whatever stands in its place. */
  write(name: string, entry: unknown): Promise<void>;
  erase(name: string): Promise<void>;
  /** From now on nobody can read it, until `mend`. */
  break(): Promise<void>;
  mend(): Promise<void>;
  close(): Promise<void>;
}

/** An entry that can be used. */
export const entryNamed = (name: string, difference: Partial<ClusterEntry> = {}): ClusterEntry => ({
  name,
  server: `https://api.${name}.example`,
  cloud: { provider: "no-cloud" },
  ...difference,
});

/** What holds of every home of clusters. */
export function describeHome(title: string, open: () => Promise<OwnedHome>): void {
  describe(`clusters of ${title}`, () => {
    let owned: OwnedHome;
    let ending: AbortController;
    let following: Promise<void> | undefined;
    /** What was heard: each content as its usable names, faulty ones with a `!`, or the code of an error. */
    let heard: string[];

    beforeEach(async () => {
      owned = await open();
      ending = new AbortController();
      following = undefined;
      heard = [];
      await owned.write("blue", entryNamed("blue"));
      await owned.write("green", entryNamed("green"));
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
        // What failed is tried again soon.
        random: () => 0.02,
      });
    }
    const untilHeard = (last: string): Promise<void> =>
      untilTrue(`"${last}" to be heard after ${heard}`, () => heard.at(-1) === last);

    test("are read whole, with the hash of what is written, wherever that is", async () => {
      const { clusters, faulty } = await owned.home.read();
      const found = clusters.map(({ name, hash }) => [name, hash]).sort();
      expect([found, faulty]).toEqual([
        [
          ["blue", hashOfEntry(entryNamed("blue"))],
          ["green", hashOfEntry(entryNamed("green"))],
        ],
        [],
      ]);
    });

    test("are found by name, and undefined where there is none", async () => {
      const clusters = owned.home.byName();
      const found = [await clusters("blue"), await clusters("red")].map((each) => each?.server);
      expect(found).toEqual(["https://api.blue.example", undefined]);
      const [all, named] = [await clusters.all(), await clusters.named(["green", "red"])];
      expect([all.map(({ name }) => name).sort(), named.map(({ name }) => name)]).toEqual([
        ["blue", "green"],
        ["green"],
      ]);
    });

    test("are read anew where that is asked for", async () => {
      const clusters = owned.home.byName();
      await clusters("blue");
      await owned.write("blue", entryNamed("blue", { server: "https://moved.example" }));
      await untilTrue("the new one", async () => {
        const found = await clusters("blue", { fresh: true });
        return found?.server === "https://moved.example";
      });
    });

    test("that are faulty say all that is wrong, by name and place, and no other is the worse for it", async () => {
      await owned.write("red", {
        ...entryNamed("red"),
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

    test("come, change, become faulty and go while they are followed", async () => {
      follow();
      await untilHeard("blue green");
      await owned.write("grey", entryNamed("grey"));
      await untilHeard("blue green grey");
      await owned.write("grey", { ...entryNamed("grey"), server: 7 });
      await untilHeard("blue green grey!");
      await owned.write("grey", entryNamed("grey", { server: "https://other.example" }));
      await untilHeard("blue green grey");
      await owned.erase("green");
      await untilHeard("blue grey");
    });

    test("go on while nobody can read them, which is said once", async () => {
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

    test("go on where all of them are gone at once: nobody means that", async () => {
      follow();
      await untilHeard("blue green");
      await owned.erase("blue");
      await owned.erase("green");
      await untilTrue("it to be doubted", () => heard.at(-1) === "Invalid");
    });
  });
}
