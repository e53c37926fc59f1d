import { ListedFirewall } from "#clouds/digitalocean/firewall/rule.ts";
import { readList } from "#clouds/digitalocean/read-list.ts";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Firewall } from "#core/firewall/state.ts";

/** Maximum pages read: the API cannot filter by name. */
const MAX_PAGES = 10;

const LIST = { operation: "firewalls_list", path: "/v2/firewalls", key: "firewalls" };

/** Lists the account's firewalls of one name. Absence counts as proof, so an incomplete list is a fault. */
export async function listFirewalls(
  name: string,
  api: Api,
  callContext: CallContext,
): Promise<Outcome<readonly Firewall[]>> {
  const listed = await readList(LIST, MAX_PAGES, api, callContext);
  if (listed.kind === "fault") return listed;
  const found: Firewall[] = [];
  // Firewalls of others are not parsed, so that an unreadable one does not matter.
  for (const entry of listed.value.filter((each) => each.name === name)) {
    const { success, data } = ListedFirewall.safeParse(entry);
    if (!success) return fault("Unavailable", `GET ${LIST.path}: the answer holds what is no firewall`);
    found.push(data.firewall);
  }
  return ok(found);
}
