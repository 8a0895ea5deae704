package httpapi

// RouteInfo is one row of the table of routes.
type RouteInfo struct {
	Method, Pattern, Policy string
	Limit                   int64
}

// Routes is the table of REST.
func Routes() []RouteInfo {
	var list []RouteInfo
	for _, rt := range routes() {
		limit := rt.limit
		if limit == 0 {
			limit = bodyLimit
		}
		list = append(list, RouteInfo{rt.method, rt.pattern, string(rt.policy), limit})
	}
	return list
}
