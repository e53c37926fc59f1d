import { buildFault, type Call, getResult, hasSucceeded, replaceParameters } from "../call.ts";
import type { Mend, Mends } from "../mend.ts";
import { listMembers, setChild } from "../xml.ts";

/** The maximum page size of both ELBs' describes. */
export interface PageSize {
  most: number;
}

/** AWS's own page size. */
export const USUAL_PAGE_SIZE = 400;

/**
 * Pages of both ELBs. Moto pages some operations at 50 and others not at all: the mend reads everything and
 * cuts pages itself.
 */
export function createPagingMends(size: PageSize): Mends {
  const paged =
    (list: string): Mend =>
    async (call, next) => {
      const { parameters } = call;
      const wanted = Number(parameters.text("PageSize") ?? size.most);
      if (wanted < 1 || wanted > USUAL_PAGE_SIZE)
        return buildFault(
          call,
          "ValidationError",
          `PageSize '${wanted}' must be between 1 and ${USUAL_PAGE_SIZE}`,
        );
      const from = markerOf(call);
      if (Number.isNaN(from))
        return buildFault(call, "ValidationError", `Invalid marker '${parameters.text("Marker")}'`);
      const answer = await next(replaceParameters(call, { PageSize: "100000", Marker: undefined }));
      if (!hasSucceeded(answer)) return answer;
      const result = getResult(answer);
      const all = listMembers(result, list);
      const to = from + Math.min(wanted, size.most);
      setChild(result, list, all.slice(from, to));
      setChild(result, "NextMarker", to < all.length ? `page-from-${to}` : undefined);
      return answer;
    };
  return {
    byOperation: {
      "elb:DescribeAccountLimits": paged("Limits"),
      "elbv2:DescribeAccountLimits": paged("Limits"),
      "elb:DescribeLoadBalancers": paged("LoadBalancerDescriptions"),
      "elbv2:DescribeLoadBalancers": paged("LoadBalancers"),
      "elbv2:DescribeTargetGroups": paged("TargetGroups"),
      "elbv2:DescribeListeners": paged("Listeners"),
    },
    forget: () => {
      size.most = USUAL_PAGE_SIZE;
    },
  };
}

function markerOf({ parameters }: Call): number {
  const marker = parameters.text("Marker");
  return marker === undefined ? 0 : Number(/^page-from-(\d+)$/.exec(marker)?.[1] ?? Number.NaN);
}
