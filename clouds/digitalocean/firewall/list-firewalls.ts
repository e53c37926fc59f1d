import * as z from "zod";
import { ListedFirewall } from "#clouds/digitalocean/firewall/rule.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Firewall } from "#core/firewall/state.ts";

const Page = z.object({
  firewalls: z.array(z.unknown()),
  links: z.object({ pages: z.object({ next: z.string().optional() }).optional() }).prefault({}),
});

const PAGE_SIZE = 200;
/** So many pages are looked at: the API knows of no way to ask for a name. */
const MAX_PAGES = 10;
const TEMPLATE = "GET /v2/firewalls";

/** The account's firewalls of one name. One that is not found is not there: a list that may lack something is a fault. */
export async function firewallsNamed(
  name: string,
  api: Api,
  turn: Turn,
): Promise<Outcome<readonly Firewall[]>> {
  const found = new Map<string, Firewall>();
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const path = `/v2/firewalls?page=${page}&per_page=${PAGE_SIZE}`;
    const answer = await api.get({ operation: "firewalls_list", template: TEMPLATE, path }, turn);
    if (answer.kind === "fault") return answer;
    const parsed = Page.safeParse(answer.value);
    if (!parsed.success) return fault("Unavailable", `${TEMPLATE}: the answer is not a list of firewalls`);
    for (const entry of parsed.data.firewalls) {
      const listed = ListedFirewall.safeParse(entry);
      if (!listed.success) return fault("Unavailable", `${TEMPLATE}: the answer holds what is no firewall`);
      if (listed.data.name === name) found.set(listed.data.firewall.id, listed.data.firewall);
    }
    if (parsed.data.links.pages?.next === undefined) return ok([...found.values()]);
  }
  return fault("Unavailable", `${TEMPLATE}: more than ${MAX_PAGES} pages, not looked at further`);
}
