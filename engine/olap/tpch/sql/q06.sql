select sum(l_extendedprice * l_discount) as revenue
from lineitem
where l_shipdate >= {{date (p 1)}}
  and l_shipdate < {{date (months (p 1) 12)}}
  and l_discount between {{plus (p 2) "-0.01"}} and {{plus (p 2) "0.01"}}
  and l_quantity < {{p 3}}
