import * as z from "zod";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault, ok } from "#clouds/outcome.ts";

const ActionsPage = z.object({
  actions: z.array(
    z.looseObject({
      command: z.string(),
      status: z.string(),
      resources: z.array(z.looseObject({ id: z.union([z.int(), z.string()]), type: z.string() })),
    }),
  ),
});

/** The most that a page may hold; older actions are not looked at. */
const PAGE_SIZE = 50;

/** Lists the ids of the servers that the project's latest actions have deleted. */
export async function listDeleted(api: Api, turn: Turn): Promise<Outcome<ReadonlySet<string>>> {
  const template = "GET /servers/actions";
  const query = new URLSearchParams({ sort: "id:desc", page: "1", per_page: String(PAGE_SIZE) });
  const request = { operation: "servers_actions_list", template, path: `/servers/actions?${query}` };
  const answer = await api.get(request, turn);
  if (answer.kind === "fault") return answer;
  const page = ActionsPage.safeParse(answer.value).data;
  if (page === undefined) return fault("Unavailable", `${template}: the answer is not a list of actions`);
  return ok(
    new Set(
      page.actions.flatMap(({ command, status, resources }) =>
        command === "delete_server" && status === "success"
          ? resources.flatMap(({ id, type }) => (type === "server" ? [String(id)] : []))
          : [],
      ),
    ),
  );
}
