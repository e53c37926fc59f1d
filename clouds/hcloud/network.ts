import { isServerId } from "#clouds/hcloud/provider-id.ts";
import { NetworksPage } from "#clouds/hcloud/server.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** The id of the configured network. */
export interface Network {
  /** Asks where it is known by its name alone, and no more often than now and then; undefined where none is configured. */
  id(turn: Turn): Promise<Outcome<string | undefined>>;
}

/** A name may be another network's by tomorrow. */
const MAX_AGE_MS = 10 * 60_000;

/** `now` is milliseconds of a clock that never goes back. */
export function createNetwork(api: Api, idOrName: string | undefined, now: () => number): Network {
  let known: { readonly id: string; readonly at: number } | undefined;
  return {
    async id(turn) {
      if (idOrName === undefined || isServerId(idOrName)) return ok(idOrName);
      if (known !== undefined && now() - known.at < MAX_AGE_MS) return ok(known.id);
      const found = await findNetwork(api, idOrName, turn);
      if (found.kind === "ok") known = { id: found.value, at: now() };
      return found;
    },
  };
}

/** Names of networks are unique in a project; the API takes them exactly. */
export async function findNetwork(api: Api, name: string, turn: Turn): Promise<Outcome<string>> {
  const template = "GET /networks";
  const path = `/networks?${new URLSearchParams({ name })}`;
  const answer = await api.get({ operation: "networks_list", template, path }, turn);
  if (answer.kind === "fault") return answer;
  const parsed = NetworksPage.safeParse(answer.value);
  if (!parsed.success) return fault("Unavailable", `${template}: the answer is not a list of networks`);
  const network = parsed.data.networks.find((each) => each.name === name);
  if (network !== undefined) return ok(network.id);
  return fault("Denied", `the project has no network named ${name}; see network and the token's project`);
}
