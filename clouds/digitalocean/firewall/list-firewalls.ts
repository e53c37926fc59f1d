import { ListedFirewall } from "#clouds/digitalocean/firewall/rule.ts";
import { readList } from "#clouds/digitalocean/read-list.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Firewall } from "#core/firewall/state.ts";

/** So many pages are looked at: the API knows of no way to ask for a name. */
const MAX_PAGES = 10;

const LIST = { operation: "firewalls_list", path: "/v2/firewalls", key: "firewalls" };

/** The account's firewalls of one name. One that is not found is not there: a list that may lack something is a fault. */
export async function firewallsNamed(
  name: string,
  api: Api,
  turn: Turn,
): Promise<Outcome<readonly Firewall[]>> {
  const listed = await readList(LIST, MAX_PAGES, api, turn);
  if (listed.kind === "fault") return listed;
  const found: Firewall[] = [];
  // What those of others let through is nobody's business, and neither is whether it can be read.
  for (const entry of listed.value.filter((each) => each.name === name)) {
    const { success, data } = ListedFirewall.safeParse(entry);
    if (!success) return fault("Unavailable", `GET ${LIST.path}: the answer holds what is no firewall`);
    found.push(data.firewall);
  }
  return ok(found);
}
