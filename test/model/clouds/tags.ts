import { formatCanonicalJson } from "#core/hash.ts";
import { TAG, type TagParameters, type Tags, type TagsQuestion, UNTAG } from "#core/node-tags.ts";
import { type ModelCloud, NO_USAGE } from "../cloud.ts";
import { MACHINE_COUNT } from "../history.ts";

/** The key prefix of the tag that lists our tags. */
const TAGS_MARK = "serverless-ccm.io/tags/";

/** Creates instances with tags. As in EC2, a tag is removed only if it still has the value in the request. */
export function createTagModelCloud(): ModelCloud {
  const instances = new Map<string, Tags>(
    Array.from({ length: MACHINE_COUNT + 1 }, (_, index) => [`i-${index + 1}`, { Name: `machine-${index}` }]),
  );
  const isForeign = (key: string): boolean => key === "Name" || key.startsWith("owner-");

  function act(action: string, { ids, tags }: TagParameters): void {
    for (const id of ids) {
      const before = instances.get(id);
      if (before === undefined) continue;
      const kept = Object.entries(before).filter(([key, value]) => action !== UNTAG || tags[key] !== value);
      instances.set(id, { ...Object.fromEntries(kept), ...(action === TAG ? tags : {}) });
    }
  }

  return {
    capabilities: {
      tags: {
        async observe(questions) {
          const answers = questions.map((question) => {
            const { ids, mark } = question as TagsQuestion;
            const found = [...instances].filter(([id, tags]) => ids.includes(id) || mark in tags);
            return { kind: "observed", state: { resources: Object.fromEntries(found) } } as const;
          });
          return { answers, usage: NO_USAGE };
        },
        async act({ action, parameters }) {
          const { ids } = parameters as unknown as TagParameters;
          const gone = ids.filter((id) => !instances.has(id));
          act(action, parameters as unknown as TagParameters);
          const refused = Object.fromEntries(gone.map((id) => [id, "InvalidInstanceID.NotFound"]));
          return { answer: { kind: "done", result: { refused } }, usage: NO_USAGE };
        },
      },
    },
    providerIDs: Array.from(
      { length: MACHINE_COUNT + 1 },
      (_, index) => `aws:///eu-central-1a/i-${index + 1}`,
    ),
    endMachine(machine) {
      instances.delete(`i-${machine + 1}`);
    },
    hasMachine: (providerID) => instances.has(providerID.split("/").at(-1) ?? ""),
    addForeign(number) {
      const id = `i-${1 + (number % MACHINE_COUNT)}`;
      const tags = instances.get(id);
      if (tags !== undefined) instances.set(id, { ...tags, [`owner-${number}`]: "other-user" });
    },
    drift(number) {
      const id = `i-${1 + (number % MACHINE_COUNT)}`;
      const tags = instances.get(id);
      // Without the mark all tags count as foreign: they stay after the node is deleted.
      const key = Object.keys(tags ?? {}).find((each) => !isForeign(each) && !each.startsWith(TAGS_MARK));
      if (tags === undefined || key === undefined) return undefined;
      const { [key]: _, ...rest } = tags;
      instances.set(id, rest);
      return `takes the tag ${key} from ${id}`;
    },
    foreign: () =>
      [...instances].flatMap(([id, tags]) =>
        Object.entries(tags).flatMap(([key, value]) => (isForeign(key) ? [`${id} ${key}=${value}`] : [])),
      ),
    outline: () => [...instances].map(([id, tags]) => `${id} ${formatCanonicalJson(tags)}`).sort(),
  };
}
