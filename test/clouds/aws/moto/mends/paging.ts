import { type Call, faultOf, resultOf, succeeded, withParameters } from "../call.ts";
import type { Mend, Mends } from "../mend.ts";
import { listOf, setChild } from "../xml.ts";

/** How long the pages of both ELBs' describes are at most. */
export interface PageSize {
  most: number;
}

/** AWS's own. */
export const USUAL_PAGE_SIZE = 400;

/** Pages of both ELBs. Moto's own of some operations end at 50, and others have none: all is asked of it, and cut here. */
export function paging(size: PageSize): Mends {
  const paged =
    (list: string): Mend =>
    async (call, next) => {
      const { parameters } = call;
      const wanted = Number(parameters.text("PageSize") ?? size.most);
      if (wanted < 1 || wanted > USUAL_PAGE_SIZE)
        return faultOf(
          call,
          "ValidationError",
          `PageSize '${wanted}' must be between 1 and ${USUAL_PAGE_SIZE}`,
        );
      const from = markerOf(call);
      if (Number.isNaN(from))
        return faultOf(call, "ValidationError", `Invalid marker '${parameters.text("Marker")}'`);
      const answer = await next(withParameters(call, { PageSize: "100000", Marker: undefined }));
      if (!succeeded(answer)) return answer;
      const result = resultOf(answer);
      const all = listOf(result, list);
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
