import * as z from "zod";
import type { Api, ApiRequest } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { isNotFound } from "#clouds/oci/read-error.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** The largest page; the server may return fewer entries. */
export const PAGE_SIZE = 500;

/** Maximum pages read. */
const MAX_PAGES = 60;

/** A page in the format of most services, or of newer ones. */
const Page = z.union([
  z.array(z.unknown()),
  z.object({ items: z.array(z.unknown()) }).transform(({ items }) => items),
]);

/**
 * Reads all pages of a list. A short or empty page need not be the last: only the header shows that. An
 * incomplete list is a fault, because absence from it would prove nothing. Oracle also answers "not found"
 * for missing permissions.
 */
export async function listAll(
  api: Api,
  request: Omit<ApiRequest, "method" | "body">,
  callContext: CallContext,
): Promise<Outcome<readonly unknown[]>> {
  const { template, path } = request;
  const items: unknown[] = [];
  const readPages = new Set<string>();
  for (let page: string | undefined, count = 0; count < MAX_PAGES; count += 1) {
    const paging = new URLSearchParams({ limit: String(PAGE_SIZE), ...(page === undefined ? {} : { page }) });
    const answer = await api.send(
      { ...request, path: `${path}${path.includes("?") ? "&" : "?"}${paging}` },
      callContext,
    );
    if (answer.kind === "fault") {
      const { message } = answer.fault;
      if (!isNotFound(answer.fault)) return answer;
      const remedy = "check that the listed resource exists, and that a policy lets the user read it";
      return { kind: "fault", fault: { ...answer.fault, code: "Denied", message: `${message}; ${remedy}` } };
    }
    const parsed = Page.safeParse(answer.value.body);
    if (!parsed.success) return fault("Unavailable", `${template}: the answer is not a list`);
    items.push(...parsed.data);
    page = answer.value.headers["opc-next-page"];
    if (page === undefined || page === "") return ok(items);
    if (readPages.has(page))
      return fault("Unavailable", `${template}: the same page is named twice as the next one`);
    readPages.add(page);
  }
  return fault("Unavailable", `${template}: there are more than ${MAX_PAGES} pages`);
}
